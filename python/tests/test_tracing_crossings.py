"""What crosses to the host with the context where it was: back-calls and logs."""

from __future__ import annotations

import pytest
from conftest import Host
from support.conversation import Conversation
from support.trace_context import CONTEXT, IN_MEMORY, TRACE_ID, finished_spans

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.values.encode import encode

TOOLS = (
    IN_MEMORY
    + """
    import asyncio
    import contextvars
    import logging
    import threading
    from collections.abc import Iterator
    from typing import Any
    from opentelemetry import context
    from snakepit_bridge import current_call, on_startup

    logger = logging.getLogger("user")

    @on_startup
    def start() -> None:
        with tracer.start_as_current_span("start"):
            logger.info("starting")
        exporter.clear()

    @tool
    def asks() -> Any:
        with tracer.start_as_current_span("inside"):
            return current_call().host("answer")

    @tool
    async def asks_later() -> Any:
        with tracer.start_as_current_span("inside"):
            return await current_call().host_async("answer")

    @tool
    def asks_between() -> Iterator[Any]:
        with tracer.start_as_current_span("inside"):
            yield current_call().host("answer")

    @tool
    def asks_in_a_thread() -> None:
        with tracer.start_as_current_span("inside"):
            run = contextvars.copy_context().run
            ask = lambda: current_call().host("answer")
            thread = threading.Thread(target=run, args=(ask,))
            thread.start()
            thread.join()

    @tool
    def asks_with_baggage(value: str) -> Any:
        context.attach(baggage.set_baggage("more", value))
        return current_call().host("answer")

    @tool
    def asks_with_bad_baggage(kind: str) -> Any:
        bad = {"a lone surrogate": "\\ud800", "too long": "b" * 10_000}
        context.attach(baggage.set_baggage("more", bad[kind]))
        return current_call().host("answer")

    @tool
    def logs() -> None:
        logger.info("in the tool's span")
        with tracer.start_as_current_span("inside"):
            logger.info("in the user's span")

    @tool
    async def logs_later() -> None:
        logger.info("in the tool's span")
        with tracer.start_as_current_span("inside"):
            await asyncio.sleep(0)
            logger.info("in the user's span")

    @tool
    def logs_in_a_thread() -> None:
        thread = threading.Thread(target=logger.info, args=("in no span",))
        thread.start()
        thread.join()
"""
)


def answered(
    conversation: Conversation, tool: str, *args: object, fails: bool = False
) -> dict[str, str]:
    """Calls a tool, answers its back-call; returns what came with that."""
    options = {"stream_credit": 9} if "between" in tool else {}
    call_id = conversation.begin(tool, list(args), trace_context=CONTEXT, **options)
    host_call = conversation.receive().host_call
    number = host_call.host_call_id
    if fails:
        failure = pb.HostFailure(host_call_id=number, code="SOLD_OUT", message="no tea")
        conversation.send(host_failure=failure)
    else:
        result = pb.HostResult(host_call_id=number, value=encode(None))
        conversation.send(host_result=result)
    conversation.terminal(call_id)
    return dict(host_call.trace_context)


@pytest.mark.parametrize("calls_per_worker", [1, 2])
@pytest.mark.parametrize(
    "tool", ["asks", "asks_later", "asks_between", "asks_in_a_thread"]
)
def test_a_back_call_has_a_client_span_where_it_is_made_and_carries_that(
    shared: Host, tool: str, calls_per_worker: int
) -> None:
    conversation = shared(TOOLS, callsPerWorker=calls_per_worker).converse()
    carried = answered(conversation, tool)
    spans = finished_spans(conversation)
    back_call = spans["back-call answer"]
    assert back_call["parent"] == spans["inside"]["id"]
    assert back_call["kind"] == "CLIENT"
    assert back_call["status"] == "UNSET"
    assert back_call["scope"] == "snakepit_bridge"
    assert back_call["attributes"].items() >= {
        ("rpc.system.name", "snakepit"),
        ("rpc.method", "answer"),
    }
    assert carried == {
        "traceparent": f"00-{TRACE_ID}-{back_call['id']}-01",
        "baggage": "tenant=acme",
    }


@pytest.mark.parametrize("tool", ["asks", "asks_later"])
def test_the_span_of_a_back_call_that_fails_has_the_hosts_code(
    shared: Host, tool: str
) -> None:
    conversation = shared(TOOLS).converse()
    answered(conversation, tool, fails=True)
    back_call = finished_spans(conversation)["back-call answer"]
    assert back_call["status"] == "ERROR"
    assert back_call["description"] == "no tea"
    assert back_call["attributes"]["error.type"] == "SOLD_OUT"
    # The exception is on the span of the function, in the host.
    assert back_call["events"] == []


def test_a_back_call_carries_the_tools_own_baggage(shared: Host) -> None:
    conversation = shared(TOOLS).converse()
    carried = answered(conversation, "asks_with_baggage", "a b")
    assert carried["baggage"] == "tenant=acme,more=a+b"
    # Or the next test finds this one's spans.
    finished_spans(conversation)


@pytest.mark.parametrize("kind", ["a lone surrogate", "too long"])
def test_baggage_that_cannot_be_sent_fails_no_back_call(
    shared: Host, kind: str
) -> None:
    conversation = shared(TOOLS).converse()
    carried = answered(conversation, "asks_with_bad_baggage", kind)
    back_call = finished_spans(conversation)["back-call answer"]
    assert carried["traceparent"] == f"00-{TRACE_ID}-{back_call['id']}-01"
    assert "more" not in carried.get("baggage", "")


@pytest.mark.parametrize("tool", ["logs", "logs_later"])
def test_a_record_names_the_span_that_it_is_written_in(start: Host, tool: str) -> None:
    conversation = start(TOOLS).converse()
    starting = conversation.logs.get(timeout=30)
    assert starting.message == "starting"
    assert len(starting.trace_id) == 32 and starting.trace_id != TRACE_ID
    conversation.call(tool, trace_context=CONTEXT)
    logs = [conversation.logs.get_nowait(), conversation.logs.get_nowait()]
    spans = finished_spans(conversation)
    assert [(log.message, log.trace_id, log.span_id) for log in logs] == [
        ("in the tool's span", TRACE_ID, spans[tool]["id"]),
        ("in the user's span", TRACE_ID, spans["inside"]["id"]),
    ]


def test_a_record_that_belongs_to_no_call_names_no_span(start: Host) -> None:
    conversation = start(TOOLS).converse()
    conversation.logs.get(timeout=30)
    conversation.call("logs_in_a_thread", trace_context=CONTEXT)
    log = conversation.logs.get_nowait()
    assert (log.call_id, log.trace_id, log.span_id) == (0, "", "")
