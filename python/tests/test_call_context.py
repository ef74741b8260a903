"""What a tool can know of its call: sessions, deadlines, trace context."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Host

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb

BOTH_TRANSPORTS_IN_CHECK = True

TOOLS = """
    import asyncio
    import contextvars
    import threading
    import time
    from collections.abc import AsyncIterator, Iterator
    from typing import Any
    from snakepit_bridge import current_call, on_startup, tool

    flavour: contextvars.ContextVar[str] = contextvars.ContextVar("flavour")

    @on_startup
    def set_flavour() -> None:
        flavour.set("vanilla")

    @tool
    def facts() -> dict[str, Any]:
        call = current_call()
        return {
            "id": call.call_id,
            "tool": call.tool,
            "remaining": call.remaining,
            "ahead": call.deadline and call.deadline - time.monotonic(),
            "session": call.session,
            "cancelled": call.cancelled,
            "reason": call.cancel_reason,
            "trace": dict(call.trace_context),
            "logger": call.logger.name,
        }

    @tool
    def remember(key: str, value: Any) -> None:
        session = current_call().session
        assert session is not None
        session[key] = value

    @tool
    async def recall() -> dict[str, Any] | None:
        return current_call().session

    @tool
    async def ids() -> list[int]:
        async def own() -> int:
            return current_call().call_id
        return [
            current_call().call_id,
            await asyncio.create_task(own()),
            await asyncio.to_thread(lambda: current_call().call_id),
        ]

    @tool
    def ids_of_steps() -> Iterator[int]:
        yield current_call().call_id
        yield current_call().call_id

    @tool
    async def ids_of_later_steps() -> AsyncIterator[int]:
        yield current_call().call_id
        await asyncio.sleep(0)
        yield current_call().call_id

    @tool
    def taste(new: str | None = None) -> str:
        before = flavour.get()
        if new is not None:
            flavour.set(new)
        return before

    @tool
    def in_a_bare_thread() -> str:
        seen: list[str] = []
        def look() -> None:
            try:
                current_call()
            except RuntimeError as error:
                seen.append(str(error))
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return seen[0]
"""


def test_a_call_has_its_name_and_number(start: Host) -> None:
    trace = {"traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-01"}
    conversation = start(TOOLS).converse()
    facts: dict[str, Any] = conversation.call("facts", trace_context=trace)
    assert facts == {
        "id": 1,
        "tool": "facts",
        "remaining": None,
        "ahead": None,
        "session": None,
        "cancelled": False,
        "reason": None,
        "trace": trace,
        "logger": "tool.facts",
    }


def test_a_deadline_counts_down_from_when_the_call_arrived(shared: Host) -> None:
    facts: Any = shared(TOOLS).converse().call("facts", timeout_ms=60_000)
    assert 0 < facts["remaining"] < 60
    assert 0 < facts["ahead"] <= facts["remaining"]


def test_calls_of_one_session_share_a_dictionary_and_others_do_not(
    shared: Host,
) -> None:
    conversation = shared(TOOLS).converse()
    conversation.call("remember", ["key", [1]], session_id="s")
    assert conversation.call("recall", session_id="s") == {"key": [1]}
    assert conversation.call("recall", session_id="t") == {}
    assert conversation.call("recall") is None


def test_the_dictionary_of_an_ended_session_is_dropped(start: Host) -> None:
    conversation = start(TOOLS).converse()
    conversation.call("remember", ["key", 1], session_id="s")
    conversation.send(session_end=pb.SessionEnd(session_id="s"))
    assert conversation.call("recall", session_id="s") == {}


def test_sessions_live_until_the_host_ends_them_however_many_there_are(
    start: Host,
) -> None:
    conversation = start(TOOLS).converse()
    conversation.call("remember", ["key", 1], session_id="first")
    for i in range(2000):
        conversation.begin("recall", session_id=str(i))
    assert conversation.call("recall", session_id="first") == {"key": 1}


def test_tasks_and_threads_of_asyncio_know_the_call(start: Host) -> None:
    assert start(TOOLS).converse().call("ids") == [1, 1, 1]


@pytest.mark.parametrize("tool", ["ids_of_steps", "ids_of_later_steps"])
@pytest.mark.parametrize("calls_per_worker", [1, 2])
def test_each_step_of_a_stream_knows_its_call(
    start: Host, tool: str, calls_per_worker: int
) -> None:
    conversation = start(TOOLS, callsPerWorker=calls_per_worker).converse()
    first = conversation.begin(tool, stream_credit=1)
    assert conversation.chunk() == first
    second = conversation.begin(tool, stream_credit=1)
    assert conversation.chunk() == second
    for call_id in (first, second):
        conversation.send(credit=pb.Credit(call_id=call_id, chunks=1))
        assert conversation.chunk() == call_id


def test_context_variables_of_the_start_are_seen_and_those_of_a_call_are_not(
    start: Host,
) -> None:
    conversation = start(TOOLS).converse()
    assert conversation.call("taste", ["mint"]) == "vanilla"
    assert conversation.call("taste") == "vanilla"


def test_the_error_in_a_bare_thread_explains_how_to_have_a_call(shared: Host) -> None:
    message = shared(TOOLS).converse().call("in_a_bare_thread")
    assert "contextvars.copy_context().run" in message
