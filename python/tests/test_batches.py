"""Calls that a tool runs together: each has its own answer or error, and ends alone."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Host
from support.conversation import Conversation

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.values.decode import decode

BOTH_TRANSPORTS_IN_CHECK = True
AT_ONCE = 16

TOOLS = """
    import asyncio
    import os
    import time
    from typing import Any
    from snakepit_bridge import Batch, CallCancelled, current_batch, current_call, tool, toolset

    reader, writer = os.pipe()
    interrupted, sizes, seen = [], [], []

    def worked(items: list[Any]) -> list[Any]:
        sizes.append(len(items))
        if "invalid" in items:
            return "abc"
        if "short" in items:
            return items[1:]
        if "raises" in items:
            raise ValueError("for all")
        return [KeyError(item) if item == "error" else item for item in items]

    def block() -> None:
        current_call().logger.info("blocks")
        os.read(reader, 1)

    def answer(items: list[Any]) -> list[Any]:
        if "block" in items:
            block()
        return worked(items)

    @tool(batch=Batch(max=4, wait_ms=0))
    def together(items: list[str]) -> list[str | Exception]:
        return answer(items)

    @tool(batch=Batch(max=4, wait_ms=0))
    async def later(items: list[str]) -> list[str | Exception]:
        if "block the loop" in items:
            block()
        if "block" in items:
            await asyncio.to_thread(block)
        return worked(items)

    @tool
    def release() -> int:
        return os.write(writer, b"x")

    @tool
    def found_sizes() -> list[int]:
        found = sizes[:]
        sizes.clear()
        return found

    @tool(batch=Batch(max=4, wait_ms=0))
    def busy(items: list[str]) -> list[str]:
        current_call().logger.info("busy")
        try:
            while True:
                time.sleep(0.001)
        except CallCancelled as cancel:
            interrupted.append(cancel.reason.name)
            raise

    @tool(batch=Batch(max=4, wait_ms=0))
    async def busy_later(items: list[str]) -> list[str]:
        current_call().logger.info("busy")
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            interrupted.append(current_call().cancel_reason.name)
            raise

    @tool
    def found_interrupted() -> list[str]:
        return interrupted

    @tool(batch=Batch(max=4, wait_ms=0))
    def sessions(items: list[str]) -> list[Any]:
        answer(items)
        for call in current_batch():
            if call.session is not None:
                call.session["calls"] = call.session.get("calls", 0) + 1
        return [call.session and call.session["calls"] for call in current_batch()]

    @toolset
    class Model:
        def __init__(self) -> None:
            self.ran = 0

        @tool(batch=Batch(max=4, wait_ms=0))
        def passes(self, items: list[str]) -> list[int]:
            answer(items)
            self.ran += 1
            return [self.ran for _ in items]

    @tool(batch=Batch(max=4, wait_ms=0))
    def asks(items: list[str]) -> list[str]:
        return [call.host("name", item) for call, item in zip(current_batch(), items)]

    @tool(batch=Batch(max=4, wait_ms=0))
    def asks_or_leaves(items: list[str]) -> list[Any]:
        answer(items)
        answers: list[Any] = []
        for call, item in zip(current_batch(), items):
            try:
                answers.append(item if item == "block" else call.host("name", item))
            except CallCancelled as left:
                answers.append(left)
        return answers

    @tool(batch=Batch(max=4, wait_ms=0))
    def asks_for_all(items: list[str]) -> list[str]:
        return current_call().host("name")
"""


def fresh(shared: Host, calls_per_worker: int = AT_ONCE) -> Conversation:
    """Returns a conversation with a worker that has counted nothing yet."""
    conversation = shared(TOOLS, callsPerWorker=calls_per_worker).converse()
    conversation.call("found_sizes")
    return conversation


def settled(conversation: Conversation, calls: list[int]) -> dict[int, Any]:
    """Returns the result of each call, or its failure, as they came."""
    found: dict[int, Any] = {}
    while len(found) < len(calls):
        frame = conversation.receive()
        kind = frame.WhichOneof("frame")
        message = getattr(frame, kind or "")
        if message.call_id in calls:
            value = decode(message.value) if kind == "result" else message
            found[message.call_id] = value
    return found


def gathered(conversation: Conversation, tool: str, items: list[str]) -> dict[int, Any]:
    """Returns the end of calls that gather while a batch of one runs."""
    first = conversation.begin(tool, ["block"])
    assert conversation.logs.get(timeout=30).message == "blocks"
    calls = [conversation.begin(tool, [item]) for item in items]
    conversation.begin("release")
    found = settled(conversation, [first, *calls])
    assert found.pop(first) == "block"
    return {call: found[call] for call in calls}


KINDS = pytest.mark.parametrize("tool", ["together", "later"])


@KINDS
def test_calls_that_came_during_a_batch_are_the_next_ones(
    shared: Host, tool: str
) -> None:
    conversation = fresh(shared)
    found = gathered(conversation, tool, ["a", "b", "c", "d", "e", "f"])
    assert list(found.values()) == ["a", "b", "c", "d", "e", "f"]
    assert conversation.call("found_sizes") == [1, 4, 2]


@KINDS
def test_arguments_may_be_given_by_name(shared: Host, tool: str) -> None:
    conversation = fresh(shared)
    assert conversation.call(tool, {"items": "a"}) == "a"


@KINDS
@pytest.mark.parametrize("calls_per_worker", [1, AT_ONCE])
def test_one_call_alone_is_a_batch_of_one(
    shared: Host, tool: str, calls_per_worker: int
) -> None:
    conversation = fresh(shared, calls_per_worker)
    assert conversation.call(tool, ["a"]) == "a"
    assert conversation.failure(tool, ["error"]).error.type == "KeyError"
    assert conversation.failure(tool, ["raises"]).error.type == "ValueError"
    short = conversation.failure(tool, ["short"])
    assert "1 calls returned 0 answers" in short.message
    assert conversation.call("found_sizes") == [1, 1, 1, 1]


@KINDS
def test_an_exception_in_the_list_is_the_error_of_its_caller(
    shared: Host, tool: str
) -> None:
    conversation = fresh(shared)
    a, error, b = gathered(conversation, tool, ["a", "error", "b"]).values()
    assert (a, b) == ("a", "b")
    assert error.kind == pb.FAILURE_KIND_TOOL_FAILED
    assert (error.error.type, error.began) == ("KeyError", True)


@KINDS
def test_arguments_that_do_not_fit_are_the_error_of_their_caller(
    shared: Host, tool: str
) -> None:
    conversation = fresh(shared)
    wrong: Any = 7
    a, error, b = gathered(conversation, tool, ["a", wrong, "b"]).values()
    assert (a, b) == ("a", "b")
    assert error.kind == pb.FAILURE_KIND_INVALID_ARGUMENTS
    assert (error.path, error.began) == ("$.items", False)
    assert conversation.call("found_sizes") == [1, 2]


@KINDS
def test_a_batch_in_which_no_arguments_fit_does_not_run(
    shared: Host, tool: str
) -> None:
    conversation = fresh(shared)
    wrong: Any = 7
    for _ in range(2):
        failure = conversation.failure(tool, [wrong])
        assert failure.kind == pb.FAILURE_KIND_INVALID_ARGUMENTS
    assert conversation.call(tool, ["a"]) == "a"
    assert conversation.call("found_sizes") == [1]


@KINDS
@pytest.mark.parametrize(
    ("item", "kind", "says"),
    [
        ("raises", "ValueError", "for all"),
        ("short", "BatchResultInvalid", "3 calls returned 2 answers"),
        ("invalid", "BatchResultInvalid", "3 calls returned str"),
    ],
)
def test_what_a_batch_raises_or_returns_wrongly_is_the_error_of_every_caller(
    shared: Host, tool: str, item: str, kind: str, says: str
) -> None:
    conversation = fresh(shared)
    for failure in gathered(conversation, tool, ["a", item, "b"]).values():
        assert failure.kind == pb.FAILURE_KIND_TOOL_FAILED
        assert failure.error.type.endswith(kind)
        assert says in failure.message


@KINDS
def test_a_call_that_is_cancelled_while_it_waits_is_taken_out(
    shared: Host, tool: str
) -> None:
    conversation = fresh(shared)
    first = conversation.begin(tool, ["block"])
    assert conversation.logs.get(timeout=30).message == "blocks"
    calls = [conversation.begin(tool, [item]) for item in "abc"]
    conversation.cancel(calls[1], pb.CANCEL_REASON_DEADLINE)
    cancelled = settled(conversation, [calls[1]])[calls[1]]
    assert (cancelled.kind, cancelled.began) == (pb.FAILURE_KIND_CANCELLED, False)
    conversation.begin("release")
    found = settled(conversation, [first, calls[0], calls[2]])
    assert (found[calls[0]], found[calls[2]]) == ("a", "c")
    assert conversation.call("found_sizes") == [1, 2]


@pytest.mark.parametrize(
    ("tool", "blocks"),
    [("together", "block"), ("later", "block"), ("later", "block the loop")],
)
def test_a_call_that_is_cancelled_in_a_batch_ends_at_once_and_the_batch_runs_on(
    shared: Host, tool: str, blocks: str
) -> None:
    conversation = fresh(shared)
    first = conversation.begin(tool, ["block"])
    assert conversation.logs.get(timeout=30).message == "blocks"
    calls = [conversation.begin(tool, [item]) for item in ("a", blocks)]
    conversation.begin("release")
    assert conversation.logs.get(timeout=30).message == "blocks"
    conversation.cancel(calls[0])
    # The function still blocks.
    left = settled(conversation, [calls[0]])[calls[0]]
    assert (left.kind, left.began) == (pb.FAILURE_KIND_CANCELLED, True)
    conversation.begin("release")
    assert settled(conversation, [calls[1]]) == {calls[1]: blocks}
    assert conversation.call("found_sizes") == [1, 2]
    assert first not in calls


BUSY = pytest.mark.parametrize("tool", ["busy", "busy_later"])


def has_begun(conversation: Conversation) -> None:
    """Waits until `busy` says that it has begun."""
    while conversation.logs.get(timeout=30).message != "busy":
        pass


@BUSY
def test_a_batch_that_every_caller_left_is_interrupted(start: Host, tool: str) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    first = conversation.begin(tool, ["a"])
    has_begun(conversation)
    calls = [conversation.begin(tool, [item]) for item in "bc"]
    conversation.cancel(first, pb.CANCEL_REASON_DEADLINE)
    left = settled(conversation, [first])[first]
    assert (left.kind, left.began) == (pb.FAILURE_KIND_CANCELLED, True)
    has_begun(conversation)
    for call in calls:
        conversation.cancel(call)
    found = settled(conversation, calls)
    assert {each.kind for each in found.values()} == {pb.FAILURE_KIND_CANCELLED}
    assert conversation.call("found_interrupted") == ["DEADLINE", "CALLER"]


@BUSY
def test_a_batch_in_a_worker_of_one_call_is_interrupted_too(
    start: Host, tool: str
) -> None:
    conversation = start(TOOLS).converse()
    call = conversation.begin(tool, ["a"])
    has_begun(conversation)
    conversation.cancel(call)
    left = settled(conversation, [call])[call]
    assert (left.kind, left.began) == (pb.FAILURE_KIND_CANCELLED, True)
    assert conversation.call("found_interrupted") == ["CALLER"]


def test_each_call_keeps_its_session(shared: Host) -> None:
    conversation = fresh(shared)
    first = conversation.begin("sessions", ["block"], session_id="s")
    assert conversation.logs.get(timeout=30).message == "blocks"
    calls = [
        conversation.begin("sessions", ["a"], **({"session_id": name} if name else {}))
        for name in ("s", "", "t")
    ]
    conversation.begin("release")
    found = settled(conversation, [first, *calls])
    assert [found[call] for call in (first, *calls)] == [1, 2, None, 1]


def test_a_method_of_a_toolset_runs_calls_together(shared: Host) -> None:
    conversation = fresh(shared)
    first = conversation.begin("passes", ["block"])
    assert conversation.logs.get(timeout=30).message == "blocks"
    calls = [conversation.begin("passes", [item]) for item in "ab"]
    conversation.begin("release")
    found = settled(conversation, [first, *calls])
    before = found[first]
    assert [found[call] for call in calls] == [before + 1, before + 1]


@pytest.mark.parametrize("calls_per_worker", [1, AT_ONCE])
def test_each_call_may_ask_the_host(shared: Host, calls_per_worker: int) -> None:
    conversation = fresh(shared, calls_per_worker)
    call = conversation.begin("asks", ["a"])
    host_call = conversation.receive().host_call
    assert (host_call.call_id, host_call.function) == (call, "name")
    answer = pb.HostResult(
        host_call_id=host_call.host_call_id, value=host_call.argument
    )
    conversation.send(host_result=answer)
    assert settled(conversation, [call]) == {call: "a"}
    refused = conversation.failure("asks_for_all", ["a"])
    assert "use one of current_batch()" in refused.message


def test_asking_for_a_caller_that_left_raises_for_that_call(shared: Host) -> None:
    conversation = fresh(shared)
    first = conversation.begin("asks_or_leaves", ["block"])
    assert conversation.logs.get(timeout=30).message == "blocks"
    calls = [conversation.begin("asks_or_leaves", [item]) for item in "ab"]
    conversation.begin("release")
    while (frame := conversation.receive()).WhichOneof("frame") != "host_call":
        pass
    assert frame.host_call.call_id == calls[0]
    conversation.cancel(calls[0])
    # The tool takes what was raised as the answer of this call, and asks for the next.
    while (frame := conversation.receive()).WhichOneof("frame") != "host_call":
        pass
    assert frame.host_call.call_id == calls[1]
    conversation.send(
        host_result=pb.HostResult(
            host_call_id=frame.host_call.host_call_id, value=frame.host_call.argument
        )
    )
    assert settled(conversation, [calls[1]]) == {calls[1]: "b"}
    assert first not in calls


def test_a_worker_of_one_call_says_that_nothing_gathers(start: Host) -> None:
    source = """
        from snakepit_bridge import Batch, tool

        @tool(batch=Batch(max=8))
        def embed(texts: list[str]) -> list[int]:
            return [len(text) for text in texts]
    """
    conversation = start(source).converse()
    warning = conversation.logs.get(timeout=30)
    assert "embed could run up to 8 calls together" in warning.message
    assert "callsPerWorker of the pool to 8" in warning.message
