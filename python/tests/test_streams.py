"""Streams of chunks, sent within the host's credit and no further."""

from __future__ import annotations

import pytest
from conftest import Host
from support.stream_tools import GENERATORS, fresh

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.values.decode import decode

BOTH_TRANSPORTS = True


BOTH = pytest.mark.parametrize("tool", ["steps", "steps_later"])
THREADS = pytest.mark.parametrize("calls_per_worker", [1, 2])


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


# ------------------------------------------------------ The results of streams


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


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("breaks", pb.FAILURE_KIND_TOOL_FAILED),
        ("breaks_later", pb.FAILURE_KIND_TOOL_FAILED),
        ("returns_an_object", pb.FAILURE_KIND_VALUE_NOT_TRANSFERABLE),
        ("yields_a_result_of_an_object", pb.FAILURE_KIND_VALUE_NOT_TRANSFERABLE),
    ],
)
def test_the_failure_of_a_stream_comes_after_its_chunks(
    shared: Host, tool: str, kind: pb.FailureKind
) -> None:
    conversation = fresh(shared)
    call_id = conversation.begin(tool, stream_credit=10)
    assert conversation.chunk() == 1
    assert conversation.terminal(call_id).failure.kind == kind


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


def test_only_an_asynchronous_generator_yields_a_result(shared: Host) -> None:
    conversation = fresh(shared)
    call_id = conversation.begin("yields_a_result", stream_credit=10)
    assert conversation.chunk() == 1
    yielded = conversation.terminal(call_id).failure
    for failure in (yielded, conversation.failure("returns_a_result")):
        assert failure.kind == pb.FAILURE_KIND_VALUE_NOT_TRANSFERABLE
        assert "return its value" in failure.message
