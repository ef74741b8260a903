"""A tool runs in its caller's trace, in a span of its own, wherever it runs."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Host
from support.conversation import Conversation
from support.trace_context import (
    CONTEXT,
    IN_MEMORY,
    PARENT_ID,
    TRACE_ID,
    finished_spans,
)

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.values.decode import decode

TOOLS = (
    IN_MEMORY
    + """
    import asyncio
    import contextvars
    import threading
    from collections.abc import AsyncIterator, Iterator
    from snakepit_bridge import current_call, toolset

    mine = contextvars.ContextVar("mine", default="unset")
    mine.set("as the module set it")

    def seen(where):
        with tracer.start_as_current_span(where):
            return [baggage.get_baggage("tenant"), mine.get()]

    @tool
    def function() -> list:
        return seen("inside")

    @tool
    async def coroutine() -> list:
        await asyncio.sleep(0)
        return seen("inside")

    @tool
    def generator(n: int = 2) -> Iterator[list]:
        with tracer.start_as_current_span("around"):
            for i in range(n):
                yield seen(f"inside {i}")

    @tool
    async def async_generator(n: int = 2) -> AsyncIterator[list]:
        with tracer.start_as_current_span("around"):
            for i in range(n):
                await asyncio.sleep(0)
                yield seen(f"inside {i}")

    @tool
    async def coroutine_with_more() -> None:
        await asyncio.gather(
            asyncio.create_task(coroutine()), asyncio.to_thread(seen, "to_thread")
        )

    @tool
    def function_with_a_thread() -> None:
        run = contextvars.copy_context().run
        thread = threading.Thread(target=run, args=(seen, "thread"))
        thread.start()
        thread.join()

    @toolset
    class Set:
        @tool
        def method(self) -> None:
            pass
"""
)

SEEN = ["acme", "as the module set it"]
RESULTS = ["function", "coroutine"]
STREAMS = ["generator", "async_generator"]


def stream(conversation: Conversation, tool: str, **call: Any) -> list[Any]:
    """Returns all chunks of a tool."""
    call_id = conversation.begin(tool, stream_credit=100, **call)
    chunks: list[Any] = []
    while True:
        frame = conversation.receive()
        if not frame.HasField("chunk"):
            assert frame.HasField("end") and frame.end.call_id == call_id, frame
            return chunks
        chunks.append(decode(frame.chunk.value))


@pytest.mark.parametrize("calls_per_worker", [1, 2])
@pytest.mark.parametrize("tool", RESULTS)
def test_a_tools_span_is_the_callers_child_and_the_parent_of_the_users(
    shared: Host, tool: str, calls_per_worker: int
) -> None:
    conversation = shared(TOOLS, callsPerWorker=calls_per_worker).converse()
    assert conversation.call(tool, trace_context=CONTEXT) == SEEN
    spans = finished_spans(conversation)
    assert set(spans) == {tool, "inside"}
    assert {span["trace"] for span in spans.values()} == {TRACE_ID}
    assert spans[tool]["parent"] == PARENT_ID
    assert spans["inside"]["parent"] == spans[tool]["id"]


@pytest.mark.parametrize("calls_per_worker", [1, 2])
@pytest.mark.parametrize("tool", STREAMS)
def test_a_streams_span_is_current_in_every_step(
    shared: Host, tool: str, calls_per_worker: int
) -> None:
    conversation = shared(TOOLS, callsPerWorker=calls_per_worker).converse()
    assert stream(conversation, tool, trace_context=CONTEXT) == [SEEN, SEEN]
    spans = finished_spans(conversation)
    assert set(spans) == {tool, "around", "inside 0", "inside 1"}
    assert spans[tool]["parent"] == PARENT_ID
    assert spans["around"]["parent"] == spans[tool]["id"]
    assert spans["inside 0"]["parent"] == spans["around"]["id"]
    assert spans["inside 1"]["parent"] == spans["around"]["id"]


def test_a_span_says_what_ran_by_convention(shared: Host) -> None:
    conversation = shared(TOOLS).converse()
    call_id = conversation.begin("method", trace_context=CONTEXT)
    conversation.terminal(call_id)
    span = finished_spans(conversation)["method"]
    assert span["kind"] == "SERVER"
    assert span["scope"] == "snakepit_bridge"
    assert span["status"] == "UNSET"
    assert span["events"] == []
    function = span["attributes"].pop("code.function.name")
    assert function.endswith(".Set.method")
    assert span["attributes"] == {
        "rpc.system.name": "snakepit",
        "rpc.method": "method",
        "snakepit.call.number": call_id,
        "snakepit.tool.kind": "function",
        "snakepit.worker.id": "test-0",
    }


@pytest.mark.parametrize("tool", STREAMS)
def test_streams_that_take_turns_keep_their_spans_apart(
    shared: Host, tool: str
) -> None:
    conversation = shared(TOOLS).converse()
    other_parent = "00f067aa0ba902b7"
    other = {"traceparent": f"00-{TRACE_ID}-{other_parent}-01"}
    first = conversation.begin(tool, stream_credit=1, trace_context=CONTEXT)
    assert conversation.chunk() == SEEN
    first_step = finished_spans(conversation)["inside 0"]
    # The first one waits for credit, in its spans; meanwhile others run.
    assert stream(conversation, tool, trace_context=other) == [[None, SEEN[1]]] * 2
    between = finished_spans(conversation)
    assert between[tool]["parent"] == other_parent
    assert between["around"]["parent"] == between[tool]["id"]
    assert between["inside 1"]["parent"] == between["around"]["id"]
    conversation.send(credit=pb.Credit(call_id=first, chunks=10))
    assert conversation.terminal(first).HasField("end")
    after = finished_spans(conversation)
    assert set(after) == {tool, "around", "inside 1"}
    assert after[tool]["parent"] == PARENT_ID
    assert after["around"]["parent"] == after[tool]["id"]
    assert after["inside 1"]["parent"] == after["around"]["id"]
    assert first_step["parent"] == after["around"]["id"]


def test_tasks_and_threads_with_the_context_nest_too(shared: Host) -> None:
    conversation = shared(TOOLS).converse()
    conversation.call("coroutine_with_more", trace_context=CONTEXT)
    spans = finished_spans(conversation)
    tool = spans["coroutine_with_more"]["id"]
    assert spans["inside"]["parent"] == tool
    assert spans["to_thread"]["parent"] == tool
    conversation.call("function_with_a_thread", trace_context=CONTEXT)
    spans = finished_spans(conversation)
    assert spans["thread"]["parent"] == spans["function_with_a_thread"]["id"]


def test_nothing_of_a_call_is_left_for_the_next(shared: Host) -> None:
    conversation = shared(TOOLS).converse()
    conversation.call("function", trace_context=CONTEXT)
    assert conversation.call("function") == [None, SEEN[1]]
    assert conversation.call("coroutine") == [None, SEEN[1]]
    roots = [
        span
        for span in conversation.call("finished_spans")
        if span["name"] in RESULTS and not span["parent"]
    ]
    assert len(roots) == 2
    assert TRACE_ID not in {span["trace"] for span in roots}


def test_a_caller_that_does_not_sample_has_no_spans_and_a_context(shared: Host) -> None:
    conversation = shared(TOOLS).converse()
    unsampled = {**CONTEXT, "traceparent": CONTEXT["traceparent"][:-2] + "00"}
    assert conversation.call("function", trace_context=unsampled) == SEEN
    assert finished_spans(conversation) == {}


@pytest.mark.parametrize(
    "traceparent",
    ["", "nonsense", f"00-{'0' * 32}-{PARENT_ID}-01", "00-" + "a" * 100_000],
)
def test_a_context_that_is_none_begins_a_trace(shared: Host, traceparent: str) -> None:
    conversation = shared(TOOLS).converse()
    hostile = {"traceparent": traceparent, "baggage": "=;,", "else": "x"}
    assert conversation.call("function", trace_context=hostile) == [None, SEEN[1]]
    assert finished_spans(conversation)["function"]["parent"] == ""
