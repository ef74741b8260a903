"""Several frames in one message of the gRPC transport."""

from __future__ import annotations

from conftest import Host
from support.packed_frames import packed_call

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

SIZES = """
from snakepit_bridge import tool

@tool
async def size(of: int) -> bytes:
    return bytes(of)
"""


def call_of_size(number: int, image: bytes) -> bytes:
    """Every other one packed."""
    if number % 2 == 0:
        return packed_call(number, "size", image)
    call = pb.Call(call_id=number, tool="size", arguments=image)
    return pb.HostFrame(call=call).SerializeToString()


def test_frames_of_a_batch_are_handled_in_order(start: Host) -> None:
    conversation = start("greeter", transport="grpc").converse()
    image = encode({"name": "you"})
    calls = [
        pb.HostFrame(
            call=pb.Call(call_id=n, tool="greet", arguments=image)
        ).SerializeToString()
        for n in range(1, 101)
    ]
    conversation.send(batch=pb.HostFrames(frames=calls))
    answered = [conversation.receive().result.call_id for _ in calls]
    assert answered == list(range(1, 101))


def test_a_batch_within_a_batch_is_ignored(start: Host) -> None:
    conversation = start("greeter", transport="grpc").converse()
    call = pb.HostFrame(call=pb.Call(call_id=1, tool="greet"))
    inner = pb.HostFrame(batch=pb.HostFrames(frames=[call.SerializeToString()]))
    conversation.send(batch=pb.HostFrames(frames=[inner.SerializeToString()]))
    log = conversation.logs.get(timeout=30)
    assert "of an unknown kind" in log.message
    assert conversation.call("greet", {"name": "you"}) == "Hello you!"


def test_small_results_leave_together_and_large_ones_alone(start: Host) -> None:
    conversation = start(SIZES, transport="grpc").converse()
    sizes = [10, 20_000, 10, 10, 70_000, 15_000, 15_000, 15_000, 15_000, 15_000] * 5
    frames = [call_of_size(n, encode([size])) for n, size in enumerate(sizes, 1)]
    conversation.send(batch=pb.HostFrames(frames=frames))
    # In any order: none is promised of calls that a host sends at once.
    results = [conversation.receive().result for _ in sizes]
    answered = {result.call_id: len(decode(result.value)) for result in results}
    assert answered == dict(enumerate(sizes, 1))
    messages = conversation.messages
    assert len(messages) < len(sizes)
    for message in messages:
        if message.HasField("batch"):
            assert all(len(f) <= 17 << 10 for f in message.batch.frames[1:])
            assert message.ByteSize() <= 64 << 10


def test_no_batch_is_larger_than_a_message_may_be(start: Host) -> None:
    conversation = start(SIZES, transport="grpc", maxMessageBytes=1000).converse()
    image = encode([100])
    for begin in range(1, 101, 10):
        calls = [call_of_size(n, image) for n in range(begin, begin + 10)]
        conversation.send(batch=pb.HostFrames(frames=calls))
    # In any order: none is promised of calls that a host sends at once.
    results = [conversation.receive().result.call_id for _ in range(100)]
    assert sorted(results) == list(range(1, 101))
    assert max(message.ByteSize() for message in conversation.messages) <= 1000
