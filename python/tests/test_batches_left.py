"""Callers that leave a batch: before it begins, while it runs, and all of them."""

from __future__ import annotations

import pytest
from conftest import Host
from support.batches import AT_ONCE, KINDS, TOOLS, fresh, settled
from support.conversation import Conversation

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb

BOTH_TRANSPORTS_IN_CHECK = True


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


BUSY = pytest.mark.parametrize("tool", ["busy", "busy_later", "busy_passed"])


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
