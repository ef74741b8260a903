"""Streams of chunks, sent within the host's credit and no further."""

from __future__ import annotations

import pytest
from conftest import Host
from support.conversation import Conversation

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.values.decode import decode

BOTH_TRANSPORTS = True

GENERATORS = """
    import asyncio
    from collections.abc import AsyncIterator, Generator, Iterator
    from typing import Any
    from snakepit_bridge import Result, tool

    log: list[str] = []

    @tool
    def steps() -> Iterator[int]:
        try:
            for i in range(1000):
                log.append(f"made {i}")
                yield i
        finally:
            log.append("closed")

    @tool
    async def steps_later() -> AsyncIterator[int]:
        try:
            for i in range(1000):
                log.append(f"made {i}")
                yield i
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    @tool
    def large() -> Iterator[bytes]:
        for i in range(1000):
            log.append(f"made {i}")
            yield bytes(1024)

    @tool
    def breaks() -> Iterator[int]:
        yield 1
        raise ValueError("in the middle")

    @tool
    async def breaks_later() -> AsyncIterator[int]:
        yield 1
        raise ValueError("in the middle")

    @tool
    def totals(below: int) -> Generator[int, None, int]:
        total = 0
        for i in range(below):
            total += i
            yield i
        return total

    @tool
    def returns_an_object() -> Generator[int, None, object]:
        yield 1
        return object()

    @tool
    async def totals_later(below: int) -> AsyncIterator[int | Result[int]]:
        try:
            for i in range(below):
                yield i
            yield Result(sum(range(below)))
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    @tool
    async def goes_on() -> AsyncIterator[int | Result[int]]:
        yield 1
        try:
            yield Result(1)
            yield 2
        finally:
            log.append("closed")

    @tool
    async def breaks_after_its_result() -> AsyncIterator[int | Result[int]]:
        yield 1
        yield Result(1)
        raise ValueError("after it")

    @tool
    async def yields_a_result_of_an_object() -> AsyncIterator[Any]:
        yield 1
        yield Result(object())

    @tool
    def yields_a_result() -> Iterator[Any]:
        yield 1
        yield Result(1)

    @tool
    def returns_a_result() -> Any:
        return Result(1)

    @tool
    def iterates() -> Iterator[int]:
        return iter([1])

    @tool
    def unclosable() -> Iterator[int]:
        while True:
            try:
                yield 1
            except GeneratorExit:
                yield 2

    @tool
    def seen() -> list[str]:
        return log

    @tool
    def forget() -> None:
        log.clear()
"""

BOTH = pytest.mark.parametrize("tool", ["steps", "steps_later"])
THREADS = pytest.mark.parametrize("calls_per_worker", [1, 2])


def fresh(shared: Host, calls_per_worker: int = 1) -> Conversation:
    """A conversation with a worker that has forgotten what earlier tests made."""
    conversation = shared(GENERATORS, callsPerWorker=calls_per_worker).converse()
    conversation.call("forget")
    return conversation


@THREADS
@pytest.mark.parametrize("tool", ["count", "count_later"])
def test_a_stream_brings_every_chunk_in_order_and_then_its_end(
    shared: Host, tool: str, calls_per_worker: int
) -> None:
    conversation = shared("greeter", callsPerWorker=calls_per_worker).converse()
    call_id = conversation.begin(tool, [5], stream_credit=100)
    assert [conversation.chunk() for _ in range(5)] == [0, 1, 2, 3, 4]
    assert conversation.receive().end.call_id == call_id


@THREADS
@BOTH
def test_a_generator_is_advanced_only_while_credit_is_left(
    shared: Host, tool: str, calls_per_worker: int
) -> None:
    conversation = fresh(shared, calls_per_worker)
    call_id = conversation.begin(tool, stream_credit=2)
    assert [conversation.chunk(), conversation.chunk()] == [0, 1]
    assert conversation.call("seen") == ["made 0", "made 1"]
    conversation.send(credit=pb.Credit(call_id=call_id, chunks=1))
    assert conversation.chunk() == 2
    assert conversation.call("seen") == ["made 0", "made 1", "made 2"]


@THREADS
@BOTH
def test_small_chunks_go_beyond_the_credit_while_together_they_are_small(
    shared: Host, tool: str, calls_per_worker: int
) -> None:
    conversation = fresh(shared, calls_per_worker)
    # Each counts as 256 bytes.
    call_id = conversation.begin(tool, stream_credit=2, stream_bytes=1024)
    assert [conversation.chunk() for _ in range(4)] == [0, 1, 2, 3]
    assert len(conversation.call("seen")) == 4
    conversation.send(credit=pb.Credit(call_id=call_id, chunks=3))
    assert [conversation.chunk() for _ in range(3)] == [4, 5, 6]
    assert len(conversation.call("seen")) == 7


def test_large_chunks_stay_within_the_credit(shared: Host) -> None:
    conversation = fresh(shared)
    call_id = conversation.begin("large", stream_credit=2, stream_bytes=1024)
    assert [len(conversation.chunk()) for _ in range(2)] == [1024, 1024]
    assert conversation.call("seen") == ["made 0", "made 1"]
    conversation.send(credit=pb.Credit(call_id=call_id, chunks=1))
    assert len(conversation.chunk()) == 1024
    assert len(conversation.call("seen")) == 3


@BOTH
def test_a_stream_without_credit_does_not_begin(shared: Host, tool: str) -> None:
    conversation = fresh(shared)
    call_id = conversation.begin(tool, stream_credit=0)
    assert conversation.call("seen") == []
    conversation.send(credit=pb.Credit(call_id=call_id, chunks=1))
    assert conversation.chunk() == 0


@THREADS
@BOTH
def test_a_stream_that_is_cancelled_while_it_waits_is_closed(
    shared: Host, tool: str, calls_per_worker: int
) -> None:
    conversation = fresh(shared, calls_per_worker)
    call_id = conversation.begin(tool, stream_credit=1)
    assert conversation.chunk() == 0
    conversation.cancel(call_id)
    failure = conversation.terminal(call_id).failure
    assert failure.kind == pb.FAILURE_KIND_CANCELLED
    assert conversation.call("seen") == ["made 0", "closed"]


@THREADS
@pytest.mark.parametrize("below", [0, 3])
def test_the_end_of_a_stream_has_what_its_generator_returned(
    shared: Host, below: int, calls_per_worker: int
) -> None:
    conversation = fresh(shared, calls_per_worker)
    call_id = conversation.begin("totals", [below], stream_credit=10)
    assert [conversation.chunk() for _ in range(below)] == list(range(below))
    end = conversation.receive().end
    assert end.call_id == call_id
    assert decode(end.value) == sum(range(below))


@pytest.mark.parametrize("tool", ["iterates", "steps_later"])
def test_the_end_of_a_stream_without_a_result_has_none(shared: Host, tool: str) -> None:
    conversation = fresh(shared)
    call_id = conversation.begin(tool, stream_credit=2000)
    assert conversation.terminal(call_id).end == pb.End(call_id=call_id)


def test_a_result_of_a_stream_that_cannot_cross_is_its_failure(shared: Host) -> None:
    conversation = fresh(shared)
    call_id = conversation.begin("returns_an_object", stream_credit=10)
    assert conversation.chunk() == 1
    failure = conversation.terminal(call_id).failure
    assert failure.kind == pb.FAILURE_KIND_VALUE_NOT_TRANSFERABLE


@THREADS
def test_an_asynchronous_generator_yields_its_result_last(
    shared: Host, calls_per_worker: int
) -> None:
    conversation = fresh(shared, calls_per_worker)
    call_id = conversation.begin("totals_later", [3], stream_credit=10)
    assert [conversation.chunk() for _ in range(3)] == [0, 1, 2]
    assert decode(conversation.terminal(call_id).end.value) == 3
    assert conversation.call("seen") == ["closed"]


def test_an_item_after_the_result_of_a_stream_fails_the_call(shared: Host) -> None:
    conversation = fresh(shared)
    call_id = conversation.begin("goes_on", stream_credit=10)
    assert conversation.chunk() == 1
    failure = conversation.terminal(call_id).failure
    assert failure.kind == pb.FAILURE_KIND_TOOL_FAILED
    assert "yielded int after its Result" in failure.error.message
    assert conversation.call("seen") == ["closed"]


def test_an_error_after_the_result_of_a_stream_fails_the_call(shared: Host) -> None:
    conversation = fresh(shared)
    call_id = conversation.begin("breaks_after_its_result", stream_credit=10)
    assert conversation.chunk() == 1
    assert conversation.terminal(call_id).failure.error.message == "after it"


def test_the_result_of_a_stream_must_be_able_to_cross(shared: Host) -> None:
    conversation = fresh(shared)
    call_id = conversation.begin("yields_a_result_of_an_object", stream_credit=10)
    assert conversation.chunk() == 1
    failure = conversation.terminal(call_id).failure
    assert failure.kind == pb.FAILURE_KIND_VALUE_NOT_TRANSFERABLE


def test_only_an_asynchronous_generator_yields_a_result(shared: Host) -> None:
    conversation = fresh(shared)
    call_id = conversation.begin("yields_a_result", stream_credit=10)
    assert conversation.chunk() == 1
    yielded = conversation.terminal(call_id).failure
    for failure in (yielded, conversation.failure("returns_a_result")):
        assert failure.kind == pb.FAILURE_KIND_VALUE_NOT_TRANSFERABLE
        assert "return its value" in failure.message


@pytest.mark.parametrize("tool", ["breaks", "breaks_later"])
def test_an_error_in_the_middle_comes_after_the_chunks(shared: Host, tool: str) -> None:
    conversation = fresh(shared)
    call_id = conversation.begin(tool, stream_credit=10)
    assert conversation.chunk() == 1
    failure = conversation.terminal(call_id).failure
    assert failure.kind == pb.FAILURE_KIND_TOOL_FAILED
    assert failure.error.message == "in the middle"


def test_a_chunk_that_cannot_cross_ends_the_stream(shared: Host) -> None:
    conversation = shared("greeter").converse()
    call_id = conversation.begin("odd_chunk", stream_credit=10)
    assert conversation.chunk() == 1
    failure = conversation.terminal(call_id).failure
    assert failure.kind == pb.FAILURE_KIND_VALUE_NOT_TRANSFERABLE


def test_a_generator_that_does_not_close_keeps_no_other_call(start: Host) -> None:
    conversation = start(GENERATORS).converse()
    call_id = conversation.begin("unclosable", stream_credit=1)
    conversation.chunk()
    conversation.cancel(call_id)
    failure = conversation.terminal(call_id).failure
    assert failure.kind == pb.FAILURE_KIND_CANCELLED
    assert conversation.logs.get(timeout=10).message.startswith("the generator of")
    assert conversation.call("seen") == []


def test_streams_of_one_worker_run_side_by_side(shared: Host) -> None:
    conversation = fresh(shared)
    first = conversation.begin("steps", stream_credit=1)
    second = conversation.begin("steps_later", stream_credit=1)
    third = conversation.begin("steps", stream_credit=1)
    assert sorted(conversation.receive().chunk.call_id for _ in range(3)) == [
        first,
        second,
        third,
    ]
