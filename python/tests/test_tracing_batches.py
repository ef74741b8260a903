"""The spans of calls that run together: one each, and one of their batch."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Host
from support.trace_context import CONTEXT, IN_MEMORY, PARENT_ID, TRACE_ID

BOTH_TRANSPORTS_IN_CHECK = True

TOOLS = (
    IN_MEMORY
    + """
    import os
    from snakepit_bridge import Batch

    reader, writer = os.pipe()

    def answer(items):
        if "block" in items:
            os.read(reader, 1)
        if "raises" in items:
            raise ValueError("for all")
        with tracer.start_as_current_span("inside"):
            return [KeyError(item) if item == "error" else item for item in items]

    @tool(batch=Batch(max=4, wait_ms=0))
    def together(items: list[str]) -> list[str]:
        return answer(items)

    @tool(batch=Batch(max=4, wait_ms=0))
    async def later(items: list[str]) -> list[str]:
        return answer(items)

    @tool
    def release() -> int:
        return os.write(writer, b"x")

    @tool
    def linked_spans() -> list[dict]:
        def image(span):
            return {
                "name": span.name,
                "trace": trace.format_trace_id(span.context.trace_id),
                "id": trace.format_span_id(span.context.span_id),
                "parent": trace.format_span_id(span.parent.span_id) if span.parent else "",
                "links": [trace.format_span_id(l.context.span_id) for l in span.links],
                "size": dict(span.attributes).get("snakepit.batch.size"),
                "status": span.status.status_code.name,
            }
        spans = [image(span) for span in exporter.get_finished_spans()]
        exporter.clear()
        return spans
"""
)


def spans_of(start: Host, items: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Returns the spans of calls that ran together, by name."""
    conversation = start(TOOLS, callsPerWorker=8).converse()
    calls = [conversation.begin("together", ["block"])]
    calls += [
        conversation.begin("together", [item], trace_context=CONTEXT) for item in items
    ]
    release = conversation.begin("release")
    under_way = {*calls, release}
    while under_way:
        frame = conversation.receive()
        under_way.discard(getattr(frame, frame.WhichOneof("frame") or "").call_id)
    found: dict[str, list[dict[str, Any]]] = {}
    for span in conversation.call("linked_spans"):
        found.setdefault(span["name"], []).append(span)
    return found


def test_each_call_has_a_span_with_a_link_to_its_batch(start: Host) -> None:
    found = spans_of(start, ["a", "error"])
    _, batch = found["together batch"]
    _, a, error = found["together"]
    assert (batch["size"], batch["parent"], batch["status"]) == (2, "", "UNSET")
    assert batch["trace"] != TRACE_ID
    for span in (a, error):
        assert (span["trace"], span["parent"]) == (TRACE_ID, PARENT_ID)
        assert span["links"] == [batch["id"]]
    assert batch["links"] == [PARENT_ID, PARENT_ID]
    assert [a["status"], error["status"]] == ["UNSET", "ERROR"]
    # What the function does is a part of the batch.
    assert found["inside"][-1]["parent"] == batch["id"]


def test_the_span_of_a_batch_that_raises_has_its_error(start: Host) -> None:
    found = spans_of(start, ["a", "raises"])
    assert [span["status"] for span in found["together batch"]] == ["UNSET", "ERROR"]
    assert [span["status"] for span in found["together"]] == ["UNSET", "ERROR", "ERROR"]


@pytest.mark.parametrize("calls_per_worker", [1, 8])
def test_one_call_alone_has_its_span(start: Host, calls_per_worker: int) -> None:
    conversation = start(TOOLS, callsPerWorker=calls_per_worker).converse()
    assert conversation.call("later", ["a"], trace_context=CONTEXT) == "a"
    named = {span["name"]: span for span in conversation.call("linked_spans")}
    assert named["later"]["parent"] == PARENT_ID
