"""Compact calls, and what is none."""

from __future__ import annotations

import random

import pytest
from conftest import Host
from support.compact_frames import CALL, compact
from support.framed_conversation import FramedConversation

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.framed_transport.frame_parser import FRAME, framed
from snakepit_bridge.bridge.host_frames import Undecodable, parse_compact, tool_name
from snakepit_bridge.calls.context.call import NOT_SAMPLED
from snakepit_bridge.values.encode import encode


@pytest.mark.parametrize("number", [0, 1, (1 << 32) - 1])
@pytest.mark.parametrize("tool", ["", "echo", "t" * 255])
def test_a_compact_call_is_read_as_it_was_written(number: int, tool: str) -> None:
    image = encode(["x"])
    data = compact(pb.Call(call_id=number, tool=tool, arguments=image))
    assert data is not None
    assert parse_compact(data) == (number, tool.encode(), image, None)


@pytest.mark.parametrize("tool", ["", "echo"])
def test_a_compact_call_may_end_with_the_name_of_its_tool(tool: str) -> None:
    data = CALL.pack(7, len(tool), 0) + tool.encode()
    assert parse_compact(data) == (7, tool.encode(), b"", None)


@pytest.mark.parametrize("timeout_ms", [None, 1, 86_400_000])
@pytest.mark.parametrize("session", [None, "s", "s" * 255])
@pytest.mark.parametrize("traceparent", [None, "00-" + "ab" * 16, NOT_SAMPLED])
@pytest.mark.parametrize("may_hold", [False, True])
def test_a_compact_call_has_a_timeout_a_session_and_a_traceparent(
    timeout_ms: int | None, session: str | None, traceparent: str | None, may_hold: bool
) -> None:
    call = pb.Call(call_id=3, tool="echo", arguments=b"\x90", may_hold=may_hold)
    if timeout_ms is not None:
        call.timeout_ms = timeout_ms
    if session is not None:
        call.session_id = session
    if traceparent is not None:
        call.trace_context["traceparent"] = traceparent
    data = compact(call)
    assert data is not None
    fields = (timeout_ms, session, traceparent, may_hold)
    expected = None if fields == (None, None, None, False) else fields
    assert parse_compact(data) == (3, b"echo", b"\x90", expected)
    for size in range(1, len(data) - 1):
        with pytest.raises(Undecodable, match="compact call"):
            parse_compact(data[:size])


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        b"\0\0\0\0\1",
        CALL.pack(1, 5, 0) + b"echo",
        CALL.pack(1, 255, 0),
        CALL.pack(1, 0, 1) + b"\0\0\0",
        CALL.pack(1, 0, 2) + b"\2s",
        CALL.pack(1, 0, 4) + b"\2" + "é".encode(),
        CALL.pack(1, 0, 6) + b"\1s",
        CALL.pack(1, 0, 32),
    ],
)
def test_a_malformed_compact_call_is_refused(data: bytes) -> None:
    with pytest.raises(Undecodable, match="compact call"):
        parse_compact(data)


def test_a_name_that_is_not_ascii_is_refused() -> None:
    with pytest.raises(Undecodable, match="compact call"):
        tool_name("é".encode())


def test_whatever_bytes_come_are_a_frame_or_refused() -> None:
    chance = random.Random(19)
    read = 0
    for _ in range(20_000):
        data = b"\0"
        if chance.randrange(2):
            number = chance.randrange(1 << 32)
            data = CALL.pack(number, chance.randrange(12), chance.randrange(9))
        # Lengths and letters, more often than what is neither.
        data += bytes(
            chance.choice((0, 1, 3, 100, chance.randrange(256)))
            for _ in range(chance.randrange(40))
        )
        try:
            number, name, arguments, fields = parse_compact(data)
            call = pb.Call(call_id=number, tool=tool_name(name), arguments=arguments)
        except Undecodable:
            continue
        if fields is not None:
            read += 1
            timeout_ms, session, traceparent, _ = fields
            call.timeout_ms = timeout_ms or 0
            call.session_id = session or ""
            if traceparent:
                call.trace_context["traceparent"] = traceparent
        again = compact(call)
        assert again is not None
        # What is there and empty is left out.
        assert len(again) <= len(data)
        assert again.endswith(arguments)
    assert read > 20


def test_a_malformed_compact_call_ends_the_conversation(start: Host) -> None:
    worker = start("greeter", transport="framed")
    conversation = worker.converse()
    assert isinstance(conversation, FramedConversation)
    conversation.connection.socket.sendall(framed(FRAME, CALL.pack(1, 9, 0)))
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
