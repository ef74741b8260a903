"""Calls of which the host says in a bit that no trace is recorded."""

from __future__ import annotations

import re

import pytest
from conftest import Host
from support.trace_context import CONTEXT, IN_MEMORY, finished_spans

from snakepit_bridge.calls.context.call import NOT_SAMPLED, caller_headers

TOOLS = (
    IN_MEMORY
    + """
    from snakepit_bridge import current_call

    def seen() -> list[str]:
        with tracer.start_as_current_span("inside"):
            current = trace.get_current_span().get_span_context()
        return [
            current_call().trace_context["traceparent"],
            trace.format_trace_id(current.trace_id),
        ]

    @tool
    def plain() -> list[str]:
        return seen()

    @tool
    async def coroutine() -> list[str]:
        return seen()
"""
)
UNSAMPLED = {"traceparent": NOT_SAMPLED}
HEADER = re.compile("00-([0-9a-f]{32})-[0-9a-f]{16}-00")


@pytest.mark.parametrize("tool", ["plain", "coroutine"])
def test_it_has_the_context_of_a_trace_of_its_own_and_no_spans(
    start: Host, tool: str
) -> None:
    conversation = start(TOOLS, transport="framed").converse()
    traces = set()
    for _ in range(3):
        header, current = conversation.call(tool, trace_context=UNSAMPLED)
        match = HEADER.fullmatch(header)
        assert match is not None
        # What the tool begins itself is not recorded either, and belongs to that trace.
        assert current == match[1]
        traces.add(current)
    assert len(traces) == 3
    assert finished_spans(conversation) == {}
    conversation.call(tool, trace_context=CONTEXT)
    assert set(finished_spans(conversation)) == {tool, "inside"}


def test_a_worker_without_opentelemetry_does_not_load_it_for_such_a_call(
    start: Host,
) -> None:
    tools = """
    import sys
    from snakepit_bridge import tool

    @tool
    def is_loaded() -> bool:
        return "opentelemetry.trace" in sys.modules
"""
    conversation = start(tools, transport="framed").converse()
    assert conversation.call("is_loaded", trace_context=UNSAMPLED) is False
    assert conversation.call("is_loaded", trace_context=CONTEXT) is True


def test_other_headers_are_those_of_the_caller() -> None:
    assert caller_headers("00-a-b-01") == {"traceparent": "00-a-b-01"}
