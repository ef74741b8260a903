"""Streams of chunks, sent within the host's credit and no further."""

from __future__ import annotations

import pytest
from conftest import Host
from support.stream_tools import GENERATORS, fresh

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb

BOTH_TRANSPORTS = True

BOTH = pytest.mark.parametrize("tool", ["steps", "steps_later"])
THREADS = pytest.mark.parametrize("calls_per_worker", [1, 2])


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
    assert conversation.logs.get(timeout=30).message.startswith("the generator of")
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
