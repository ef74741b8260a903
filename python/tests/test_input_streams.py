"""Streams that a tool reads: items from the host, within the tool's credit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conftest import Host
from support.conversation import Conversation

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb

BOTH_TRANSPORTS_IN_CHECK = True

INPUT = """
    from collections.abc import Iterator
    from snakepit_bridge import current_call, tool

    @tool(input=float)
    def total() -> float:
        return sum(current_call().input)

    @tool(input=float)
    async def total_later() -> float:
        return sum([number async for number in current_call().input])

    @tool(input=int)
    def doubled() -> Iterator[int]:
        for number in current_call().input:
            yield 2 * number

    @tool(input=int)
    def never_reads() -> None:
        return None

    @tool(input=int)
    async def blocks() -> list[int]:
        return list(current_call().input)
"""


def items(conversation: Conversation, call_id: int, numbers: Iterator[int]) -> None:
    """Sends items as a host does: within the credit, then the end."""
    credit = 0
    for number in numbers:
        while credit == 0:
            frame = conversation.receive()
            assert frame.input_credit.call_id == call_id
            credit += frame.input_credit.chunks
        credit -= 1
        value = number.to_bytes(1, "big")
        conversation.send(input=pb.Input(call_id=call_id, value=value))
    conversation.send(input_end=pb.InputEnd(call_id=call_id))


@pytest.mark.parametrize("calls_per_worker", [1, 2])
@pytest.mark.parametrize("tool", ["total", "total_later"])
def test_an_input_stream_is_read_to_its_end(
    shared: Host, tool: str, calls_per_worker: int
) -> None:
    conversation = shared(INPUT, callsPerWorker=calls_per_worker).converse()
    call_id = conversation.begin(tool, has_input=True)
    items(conversation, call_id, iter(range(100)))
    frame = conversation.terminal(call_id)
    assert frame.result.value == bytes.fromhex("cb40b3560000000000")


def test_credit_for_input_is_given_back_as_items_are_read(shared: Host) -> None:
    conversation = shared(INPUT).converse()
    call_id = conversation.begin("doubled", has_input=True, stream_credit=8)
    assert conversation.receive().input_credit.chunks == 16
    for _ in range(16):
        conversation.send(input=pb.Input(call_id=call_id, value=b"\1"))
    frames = [conversation.receive() for _ in range(9)]
    assert [f.WhichOneof("frame") for f in frames].count("input_credit") == 1
    assert [f.input_credit.chunks for f in frames if f.HasField("input_credit")] == [8]


def test_a_tool_without_its_input_sees_an_empty_stream(shared: Host) -> None:
    assert shared(INPUT).converse().call("total") == 0


def test_a_tool_need_not_read_its_input(shared: Host) -> None:
    conversation = shared(INPUT).converse()
    assert conversation.call("never_reads", has_input=True) is None


def test_an_asynchronous_tool_must_not_block_on_its_input(shared: Host) -> None:
    failure = shared(INPUT).converse().failure("blocks", has_input=True)
    assert "use `async for`" in failure.message


@pytest.mark.parametrize("tool", ["total", "total_later"])
def test_a_call_that_waits_for_input_can_be_cancelled(shared: Host, tool: str) -> None:
    conversation = shared(INPUT).converse()
    call_id = conversation.begin(tool, has_input=True)
    assert conversation.receive().HasField("input_credit")
    conversation.cancel(call_id)
    failure = conversation.terminal(call_id).failure
    assert failure.kind == pb.FAILURE_KIND_CANCELLED
