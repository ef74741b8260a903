"""How a tool's span ends: once, and with what the call ended with."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Host
from support.trace_context import CONTEXT, IN_MEMORY, PARENT_ID, finished_spans

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
from snakepit_bridge.frames import End, Failure, FailureCode, Result
from snakepit_bridge.telemetry.otel_tracing import Outcome, outcome

TOOLS = (
    IN_MEMORY
    + """
    import asyncio
    import sys
    import time
    from collections.abc import AsyncIterator, Iterator

    def begun(call_name):
        sys.stderr.write(f"begun {call_name}\\n")

    @tool
    def fails() -> None:
        with tracer.start_as_current_span("inside"):
            {}["missing"]

    @tool
    async def fails_later() -> None:
        await asyncio.sleep(0)
        with tracer.start_as_current_span("inside"):
            {}["missing"]

    @tool
    def fails_between() -> Iterator[int]:
        with tracer.start_as_current_span("inside"):
            yield 1
            {}["missing"]

    @tool
    async def fails_between_later() -> AsyncIterator[int]:
        with tracer.start_as_current_span("inside"):
            yield 1
            {}["missing"]

    @tool
    def takes_a_number(n: int) -> None:
        pass

    @tool
    def returns_an_object() -> object:
        return object()

    @tool
    def sleeps() -> None:
        with tracer.start_as_current_span("inside"):
            begun("sleeps")
            time.sleep(600)

    @tool
    def is_busy() -> None:
        with tracer.start_as_current_span("inside"):
            begun("is_busy")
            while True:
                with tracer.start_as_current_span("short") as span:
                    span.set_attribute("n", 1)
                exporter.clear()

    @tool
    async def sleeps_later() -> None:
        with tracer.start_as_current_span("inside"):
            begun("sleeps_later")
            await asyncio.sleep(600)

    @tool
    def waits_for_credit() -> Iterator[int]:
        with tracer.start_as_current_span("inside"):
            yield 1
            yield 2

    @tool
    async def waits_for_credit_later() -> AsyncIterator[int]:
        with tracer.start_as_current_span("inside"):
            yield 1
            yield 2

    @tool
    def cleans_up_badly() -> None:
        try:
            begun("cleans_up_badly")
            time.sleep(600)
        finally:
            raise ValueError("not so clean")
"""
)

CANCELLED = [
    ("sleeps", 1),
    ("is_busy", 1),
    ("is_busy", 2),
    ("sleeps_later", 1),
    ("waits_for_credit", 1),
    ("waits_for_credit", 2),
    ("waits_for_credit_later", 1),
]


@pytest.mark.parametrize("calls_per_worker", [1, 2])
@pytest.mark.parametrize(
    "tool", ["fails", "fails_later", "fails_between", "fails_between_later"]
)
def test_an_error_is_recorded_with_type_message_and_traceback(
    shared: Host, tool: str, calls_per_worker: int
) -> None:
    conversation = shared(TOOLS, callsPerWorker=calls_per_worker).converse()
    options = {"stream_credit": 9} if "between" in tool else {}
    failure = conversation.failure(tool, trace_context=CONTEXT, **options)
    spans = finished_spans(conversation)
    assert set(spans) == {tool, "inside"}
    span = spans[tool]
    assert span["parent"] == PARENT_ID
    assert span["status"] == "ERROR"
    assert span["description"] == failure.message == "KeyError: 'missing'"
    assert span["attributes"]["error.type"] == "KeyError"
    assert span["events"] == [
        (
            "exception",
            {
                "exception.type": "KeyError",
                "exception.message": "'missing'",
                "exception.stacktrace": failure.error.traceback,
            },
        )
    ]
    assert f", in {tool}\n" in failure.error.traceback
    assert "snakepit_bridge" not in failure.error.traceback


@pytest.mark.parametrize(
    ("tool", "arguments", "error_type"),
    [
        ("takes_a_number", ["one"], "INVALID_ARGUMENTS"),
        ("returns_an_object", None, "VALUE_NOT_TRANSFERABLE"),
    ],
)
def test_a_call_that_the_bridge_refuses_has_its_kind_and_no_exception(
    shared: Host, tool: str, arguments: Any, error_type: str
) -> None:
    conversation = shared(TOOLS).converse()
    failure = conversation.failure(tool, arguments, trace_context=CONTEXT)
    span = finished_spans(conversation)[tool]
    assert span["status"] == "ERROR"
    assert span["description"] == failure.message
    assert span["attributes"]["error.type"] == error_type
    assert span["events"] == []


def cancel(shared: Host, tool: str, calls: int, reason: pb.CancelReason) -> Any:
    """Cancels a call that runs; returns its failure and the spans."""
    worker = shared(TOOLS, callsPerWorker=calls)
    conversation = worker.converse()
    begun = worker.stderr().count(f"begun {tool}\n")
    if tool.startswith("waits_for_credit"):
        call_id = conversation.begin(tool, stream_credit=1, trace_context=CONTEXT)
        conversation.chunk()
    else:
        call_id = conversation.begin(tool, trace_context=CONTEXT)
        worker.wait_for_stderr(f"begun {tool}\n", times=begun + 1)
    conversation.cancel(call_id, reason)
    frame = conversation.terminal(call_id)
    asides = ("short", "finished_spans")
    spans = [
        span
        for span in conversation.call("finished_spans")
        if span["name"] not in asides
    ]
    by_name = {span["name"]: span for span in spans}
    assert len(by_name) == len(spans)
    return frame.failure, by_name


@pytest.mark.parametrize(("tool", "calls"), CANCELLED)
def test_a_call_that_its_caller_gave_up_is_marked_and_no_error(
    shared: Host, tool: str, calls: int
) -> None:
    _, spans = cancel(shared, tool, calls, pb.CANCEL_REASON_CALLER)
    assert set(spans) == {tool, "inside"}
    span = spans[tool]
    assert span["attributes"]["snakepit.call.cancel_reason"] == "caller"
    assert "error.type" not in span["attributes"]
    assert (span["status"], span["events"]) == ("UNSET", [])
    assert spans["inside"]["parent"] == span["id"]


@pytest.mark.parametrize(("tool", "calls"), CANCELLED)
def test_a_call_that_ran_into_its_deadline_is_an_error_that_says_where(
    shared: Host, tool: str, calls: int
) -> None:
    failure, spans = cancel(shared, tool, calls, pb.CANCEL_REASON_DEADLINE)
    assert set(spans) == {tool, "inside"}
    span = spans[tool]
    assert span["attributes"]["snakepit.call.cancel_reason"] == "deadline"
    assert span["attributes"]["error.type"] == "DEADLINE"
    assert span["status"] == "ERROR"
    assert span["description"] == "the call was cancelled: its deadline passed"
    ((name, exception),) = span["events"]
    assert name == "exception"
    assert exception["exception.stacktrace"] == failure.error.traceback


def test_what_goes_wrong_after_a_cancellation_is_recorded(shared: Host) -> None:
    _, spans = cancel(shared, "cleans_up_badly", 1, pb.CANCEL_REASON_CALLER)
    span = spans["cleans_up_badly"]
    assert span["status"] == "UNSET"
    ((_, exception),) = span["events"]
    assert exception["exception.type"] == "ValueError"
    assert exception["exception.message"] == "not so clean"


def test_a_call_that_is_cancelled_before_its_turn_has_no_span(start: Host) -> None:
    worker = start(TOOLS)
    conversation = worker.converse()
    running = conversation.begin("sleeps")
    worker.wait_for_stderr("begun sleeps\n")
    waiting = conversation.begin("takes_a_number", [1])
    conversation.cancel(waiting)
    assert not conversation.terminal(waiting).failure.began
    conversation.cancel(running)
    conversation.terminal(running)
    assert set(finished_spans(conversation)) == {"sleeps", "inside"}


def test_a_call_that_ends_well_adds_nothing() -> None:
    for frame in (Result(1, 0, 0, b""), End(1)):
        assert outcome(frame, None) == Outcome()
        assert outcome(frame, CancelReason.CALLER) == Outcome()


@pytest.mark.parametrize("reason", CancelReason)
def test_the_reason_of_every_cancellation_has_its_word(reason: CancelReason) -> None:
    end = outcome(Failure(1, FailureCode.CANCELLED, "cancelled"), reason)
    assert end.attributes["snakepit.call.cancel_reason"] == reason.name.lower()
    assert (end.error is None) == (reason is CancelReason.CALLER)
