"""Compact calls, and what is none."""

from __future__ import annotations

import random
import struct

import pytest
from conftest import Host
from google.protobuf.message import DecodeError
from support.compact_frames import CALL, compact
from support.framed_conversation import FramedConversation

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.framed_transport.frame_parser import FRAME, framed
from snakepit_bridge.bridge.host_frames import parse_frame
from snakepit_bridge.values.encode import encode


@pytest.mark.parametrize("number", [0, 1, (1 << 32) - 1])
@pytest.mark.parametrize("tool", ["", "echo", "t" * 255])
def test_a_compact_call_is_read_as_it_was_written(number: int, tool: str) -> None:
    image = encode(["x"])
    data = compact(pb.Call(call_id=number, tool=tool, arguments=image))
    assert data is not None
    assert parse_frame(data) == (number, tool, image)


@pytest.mark.parametrize("tool", ["", "echo"])
def test_a_compact_call_may_end_with_the_name_of_its_tool(tool: str) -> None:
    data = CALL.pack(7, len(tool)) + tool.encode()
    assert parse_frame(data) == (7, tool, b"")


def test_any_other_frame_is_protobuf() -> None:
    frame = pb.HostFrame(cancel=pb.Cancel(call_id=7))
    assert parse_frame(frame.SerializeToString()) == frame
    assert parse_frame(b"") == pb.HostFrame()


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        b"\0\0\0\0\1",
        CALL.pack(1, 5) + b"echo",
        CALL.pack(1, 255),
        CALL.pack(1, 2) + "é".encode(),
    ],
)
def test_a_malformed_compact_call_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match="compact call"):
        parse_frame(data)


def test_whatever_bytes_come_are_a_frame_or_refused() -> None:
    chance = random.Random(19)
    read = 0
    for _ in range(20_000):
        size = chance.randrange(40)
        data = bytes([chance.choice((0, 0, 1, 10, 255))]) + chance.randbytes(size)
        try:
            frame = parse_frame(data)
        except DecodeError:
            continue
        if isinstance(frame, tuple):
            read += 1
            number, name, arguments = frame
            head = struct.pack(">xIB", number, len(name))
            assert head + name.encode() + arguments == data
    assert read > 20


def test_a_malformed_compact_call_ends_the_conversation(start: Host) -> None:
    worker = start("greeter", transport="framed")
    conversation = worker.converse()
    assert isinstance(conversation, FramedConversation)
    conversation.connection.socket.sendall(framed(FRAME, CALL.pack(1, 9)))
    with pytest.raises(EOFError):
        conversation.receive()


def test_a_compact_call_is_refused_as_any_call(start: Host) -> None:
    conversation = start("greeter", transport="framed").converse()
    assert conversation.call("greet", ["Ada"]) == "Hello Ada!"
    failure = conversation.failure("gret", ["Ada"])
    assert failure.kind == pb.FAILURE_KIND_TOOL_NOT_FOUND
    assert "did you mean 'greet'" in failure.message
    failure = conversation.failure("greet", [1])
    assert failure.kind == pb.FAILURE_KIND_INVALID_ARGUMENTS
