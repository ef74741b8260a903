"""Frames and signals of the host as MessagePack, and what is none."""

from __future__ import annotations

import random
from typing import Any

import msgpack
import pytest
from conftest import Host
from support.framed_conversation import FramedConversation
from support.packed_frames import packed_call

from snakepit_bridge import frames
from snakepit_bridge.bridge import frame_codec
from snakepit_bridge.bridge.frame_codec import (
    decode_frame,
    decode_signal,
    packed_name,
)
from snakepit_bridge.bridge.framed_transport.frame_parser import FRAME, framed
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.frames import HostFrame, Undecodable
from snakepit_bridge.values.encode import encode

TRACE = {"traceparent": "00-" + "ab" * 16}


@pytest.mark.parametrize("number", [0, 1, (1 << 32) - 1])
@pytest.mark.parametrize("tool", ["", "echo", "t" * 31, "t" * 255, "é"])
@pytest.mark.parametrize("arguments", [b"", encode(["x"])])
def test_a_usual_call_is_read_as_it_was_written(
    number: int, tool: str, arguments: bytes
) -> None:
    data = packed_call(number, tool, arguments)
    assert frame_codec.packed_call(data) == (
        number,
        packed_name(tool),
        arguments,
        None,
    )
    assert decode_frame(data) == frames.Call(number, arguments, tool)


@pytest.mark.parametrize("timeout_ms", [None, 1, 86_400_000])
@pytest.mark.parametrize("session_id", [None, "s", "é" * 255])
@pytest.mark.parametrize("trace_context", [None, TRACE])
@pytest.mark.parametrize("more", [{}, {"allows_handles": True}, {"unrecorded": True}])
def test_a_usual_call_has_a_timeout_a_session_and_a_traceparent(
    timeout_ms: int | None,
    session_id: str | None,
    trace_context: dict[str, str] | None,
    more: dict[str, Any],
) -> None:
    all_of_them = {
        "timeout_ms": timeout_ms,
        "session_id": session_id,
        "trace_context": trace_context,
        **more,
    }
    options = {name: value for name, value in all_of_them.items() if value is not None}
    data = packed_call(3, "echo", b"\x90", **options)
    expected = (3, packed_name("echo"), b"\x90", options or None)
    assert frame_codec.packed_call(data) == expected
    assert decode_frame(data) == frames.Call(3, b"\x90", "echo", **options)
    for size in range(1, len(data)):
        with pytest.raises(Undecodable, match="not MessagePack"):
            decode_frame(data[:size])


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"stream_credit": 0, "stream_bytes": 5}, "stream_credit"),
        ({"has_input": True}, "has_input"),
        ({"wants_progress": True}, "wants_progress"),
        ({"segments_gone": ["h1", "h2"]}, "segments_gone"),
        ({"result_segment": "h1"}, "result_segment"),
        ({"trace_context": {"traceparent": "a", "baggage": "b"}}, "trace_context"),
    ],
)
def test_an_unusual_call_is_read_like_any_frame(
    options: dict[str, Any], field: str
) -> None:
    data = packed_call(3, "echo", **options)
    assert frame_codec.packed_call(data) is None
    assert getattr(decode_frame(data), field) == options[field]


def test_an_attachment_is_part_of_a_call() -> None:
    call = decode_frame(packed_call(1, "echo", attachment=["h1", 5, 0]))
    assert isinstance(call, frames.Call)
    assert call.attachment == frames.Attachment("h1", 5)


def test_what_a_later_version_adds_is_left_out() -> None:
    call = decode_frame(msgpack.packb([1, 3, b"", "echo", {"later": 1}, "more"]))
    assert call == frames.Call(3, b"", "echo")
    assert decode_frame(msgpack.packb([3, 1, 8, "more"])) == frames.Credit(1, 8)
    assert decode_frame(msgpack.packb([99, 1])) is None
    assert decode_signal(msgpack.packb([99, "x"])) == (None, [])


@pytest.mark.parametrize(
    "frame",
    [
        frames.Cancel(1, "CALLER"),
        frames.Credit(1, 8),
        frames.Input(1, b"\x90"),
        frames.InputEnd(1, "it raised"),
        frames.HostResult(5, b"\xc0"),
        frames.HostFailure(5, "Error", "no"),
        frames.SessionEnd("s"),
        frames.ProgressCredit((1 << 64) - 1),
    ],
)
def test_the_other_frames_are_read_as_they_were_written(frame: HostFrame) -> None:
    kind = 2 + OTHERS.index(type(frame))
    values = frame.values()
    assert decode_frame(msgpack.packb([kind, *values])) == frame
    for i in range(len(values)):
        wrongs: list[Any] = [None, True, -1, 1.5, [], {}, msgpack.ExtType(1, b"")]
        for wrong in wrongs:
            odd = [*values[:i], wrong, *values[i + 1 :]]
            with pytest.raises(Undecodable):
                decode_frame(msgpack.packb([kind, *odd]))
    with pytest.raises(Undecodable, match="fields"):
        decode_frame(msgpack.packb([kind, *values[:-1]]))


OTHERS = [
    frames.Cancel,
    frames.Credit,
    frames.Input,
    frames.InputEnd,
    frames.HostResult,
    frames.HostFailure,
    frames.SessionEnd,
    frames.ProgressCredit,
]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x90",
        b"\xc1",
        msgpack.packb("text"),
        msgpack.packb(["1"]),
        msgpack.packb([True]),
        msgpack.packb([1]) + b"\xc0",
        msgpack.packb([1, 1, b"", "echo", []]),
        msgpack.packb([1, 1, b"", "echo", {"timeout_ms": "1"}]),
        msgpack.packb([1, 1, b"", "echo", {"trace_context": {"a": 1}}]),
        msgpack.packb([1, 1, b"", "echo", {"segments_gone": [1]}]),
        msgpack.packb([1, 1, b"", "echo", {"attachment": ["h1", 5]}]),
        msgpack.packb([1, 1, b"", "echo", {1: 2}]),
        b"\x93\x01\x01\xa1\xff",
        b"\x91" * 2000 + b"\xc0",
        b"\x92\x01\xdd\xff\xff\xff\xff",
    ],
)
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(Undecodable):
        decode_frame(data)
    if data[:2] != b"\x95\x01":
        with pytest.raises(Undecodable):
            decode_signal(data)


def test_whatever_bytes_come_are_a_frame_or_refused() -> None:
    chance = random.Random(19)
    read = packed = 0
    for _ in range(20_000):
        whole = packed_call(
            chance.randrange(1 << 32),
            "echo" * chance.randrange(12),
            bytes(chance.randrange(9)),
            **({"timeout_ms": 5} if chance.randrange(2) else {}),
        )
        data = bytearray(whole)
        for _ in range(chance.randrange(4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        data = data[: chance.randrange(len(data)) + 1] if chance.randrange(2) else data
        try:
            usual = frame_codec.packed_call(bytes(data))
        except Undecodable:
            usual = None
        try:
            call = decode_frame(bytes(data))
        except Undecodable:
            continue
        read += 1
        if usual is not None:
            packed += 1
            assert isinstance(call, frames.Call)
            number, name, arguments, options = usual
            assert (call.call_id, call.arguments) == (number, arguments)
            assert name == packed_name(call.tool)
            assert call.timeout_ms == (options or {}).get("timeout_ms", 0)
    assert read > 1000
    assert packed > 1000


@pytest.mark.parametrize(
    "signal",
    [
        ("hello", ["é" * 100]),
        ("ping", [(1 << 64) - 1]),
        ("describe", []),
        ("health", []),
        ("leave", []),
    ],
)
def test_signals_are_read(signal: tuple[str, list[Any]]) -> None:
    name, values = signal
    kind = ["hello", "ping", "describe", "health", "leave"].index(name) + 1
    assert decode_signal(msgpack.packb([kind, *values])) == signal
    if values:
        with pytest.raises(Undecodable):
            decode_signal(msgpack.packb([kind]))
        with pytest.raises(Undecodable):
            decode_signal(msgpack.packb([kind, None]))


def test_a_malformed_call_ends_the_conversation(start: Host) -> None:
    worker = start("greeter", transport="framed")
    conversation = worker.converse()
    assert isinstance(conversation, FramedConversation)
    whole = packed_call(1, "greet", b"\x90")
    conversation.connection.socket.sendall(framed(FRAME, whole[:-3]))
    with pytest.raises(EOFError):
        conversation.receive()


def test_a_usual_call_is_refused_as_any_call(start: Host) -> None:
    conversation = start("greeter", transport="framed").converse()
    assert conversation.call("greet", ["Ada"]) == "Hello Ada!"
    failure = conversation.failure("gret", ["Ada"])
    assert failure.kind == pb.FAILURE_KIND_TOOL_NOT_FOUND
    assert "did you mean 'greet'" in failure.message
    failure = conversation.failure("greet", [1])
    assert failure.kind == pb.FAILURE_KIND_INVALID_ARGUMENTS
