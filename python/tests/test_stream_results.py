"""The results of streams."""

from __future__ import annotations

import pytest
from conftest import Host
from support.stream_tools import fresh

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.values.decode import decode

BOTH_TRANSPORTS = True

BOTH = pytest.mark.parametrize("tool", ["steps", "steps_later"])
THREADS = pytest.mark.parametrize("calls_per_worker", [1, 2])


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
