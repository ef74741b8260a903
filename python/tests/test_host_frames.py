"""Frames and signals of the host as MessagePack, and what is none."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import msgpack
import pytest
from support.call_bench import Bench
from support.packed_frames import packed_call

from snakepit_bridge import frames
from snakepit_bridge.bridge import frame_codec
from snakepit_bridge.bridge.call_intake import CallIntake
from snakepit_bridge.bridge.frame_codec import decode_frame, decode_signal, packed_name
from snakepit_bridge.bridge.framed_transport.frame_parser import (
    FRAME,
    HEADER,
    SIGNAL,
    framed,
)
from snakepit_bridge.frames import HostFrame, Undecodable
from snakepit_bridge.values.decode import decode
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
        options: dict[str, Any] = {"timeout_ms": 5} if chance.randrange(2) else {}
        whole = packed_call(
            chance.randrange(1 << 32),
            "echo" * chance.randrange(12),
            bytes(chance.randrange(9)),
            unrecorded=chance.randrange(2) == 1,
            **options,
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
            number, name, arguments, read_options = usual
            assert (call.call_id, call.arguments) == (number, arguments)
            assert name == packed_name(call.tool)
            assert call.timeout_ms == (read_options or {}).get("timeout_ms", 0)
            assert call.unrecorded == (read_options or {}).get("unrecorded", False)
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


# ------------------------------------- Calls, from the bytes that they come in


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def call_frame(number: int, name: str, **more: Any) -> bytes:
    return framed(FRAME, packed_call(number, name, b"\x90", **more))


def broken(*, at: int, to: int) -> bytes:
    """Returns a message with one other byte in its call."""
    data = bytearray(call_frame(7, "see", timeout_ms=5))
    data[HEADER.size + at] = to
    return bytes(data)


@pytest.mark.parametrize(
    "other",
    [
        framed(SIGNAL, b"\0" * 20),
        framed(SIGNAL, call_frame(7, "see")[5:]),
        framed(FRAME, msgpack.packb([2, 7, "CALLER"])),
        call_frame(7, "see", session_id="a", timeout_ms=5),
        call_frame(7, "see", wants_progress=True),
        call_frame(7, "see", timeout_ms="5"),
        call_frame(7, "see", trace_context={"traceparent": "a", "baggage": "b"}),
        call_frame(7, "see", timeout_ms=5)[:-4],
        # The marks of the array, the kind, the number, the length and the name.
        *(broken(at=at, to=0x97) for at in (0, 1, 2, 7, 13)),
        # The length of the arguments, and of the name.
        broken(at=11, to=200),
        broken(at=13, to=0xBF),
        framed(FRAME, call_frame(7, "see", timeout_ms=5)[5:-1]),
        framed(FRAME, call_frame(7, "see", timeout_ms=5)[5:] + b"\xc0"),
        framed(FRAME, call_frame(7, "see")[5:] + b"\xc0"),
        call_frame(7, "unknown"),
        call_frame(1, "see"),
        call_frame(7, "see")[:-1],
        call_frame(7, "see")[:11],
        framed(FRAME, b"\0" * 6),
        b"",
    ],
)
def test_calls_are_taken_up_to_the_first_other_message(
    bench: Bench, other: bytes
) -> None:
    plain = call_frame(1, "see") + call_frame(2, "takes")
    assert bench.intake.take(plain + other) == len(plain)
    taken = [(call.number, call.tool.name, call.arguments) for call in bench.waiting]
    assert taken == [(1, "see", b"\x90"), (2, "takes", b"\x90")]
    assert [*bench.table.running] == [1, 2]
    bench.tools.clear()
    assert bench.intake.take(call_frame(3, "see")) == 0


def test_a_call_that_was_taken_is_one_of_the_conversation(bench: Bench) -> None:
    bench.intake.take(call_frame(1, "see") + call_frame(2, "takes"))
    assert [*bench.table.running.values()] == [*bench.waiting]
    assert all(call.sink is bench.table for call in bench.waiting)
    assert all(call.is_usual for call in bench.waiting)


def test_a_call_may_have_no_arguments_and_be_as_long_as_a_message(
    bench: Bench,
) -> None:
    calls = [packed_call(1, "see"), packed_call(2, "see", timeout_ms=60_000)]
    data = b"".join(framed(FRAME, call) for call in calls)
    bench.table.max_message_bytes = len(data)
    bench.intake = CallIntake(bench.table, bench.tools)
    bench.intake.begin(bench.queue)
    assert bench.intake.take(data) == len(data)
    assert bench.run() == [[1, 2]]


def test_what_may_be_too_large_is_left_to_who_cuts_messages(bench: Bench) -> None:
    bench.table.max_message_bytes = 40
    bench.intake = CallIntake(bench.table, bench.tools)
    assert bench.intake.take(call_frame(1, "see") * 3) == 0
    assert not bench.waiting


def test_a_call_with_a_deadline_or_a_trace_is_taken_too(bench: Bench) -> None:
    before = time.monotonic()
    trace = {"traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-00"}
    data = (
        call_frame(1, "see", timeout_ms=60_000)
        + call_frame(2, "see", trace_context=trace)
        + call_frame(3, "see", timeout_ms=60_000, trace_context=trace)
        + call_frame(4, "see")
        + call_frame(5, "see", unrecorded=True)
        + call_frame(6, "see", unrecorded=True, timeout_ms=60_000)
        + call_frame(7, "see", unrecorded=True, trace_context=trace)
    )
    assert bench.intake.take(data) == len(data)
    calls = [call.call for call in bench.waiting]
    assert [call.trace_context for call in calls[:4]] == [{}, trace, trace, {}]
    made = {call.trace_context["traceparent"] for call in calls[4:]}
    assert len(made - {trace["traceparent"]}) == 3
    assert all(traceparent.endswith("-00") for traceparent in made)
    late = time.monotonic() + 60
    deadlines = (True, False, True, False, False, True, False)
    for call, has_deadline in zip(calls, deadlines, strict=True):
        if has_deadline:
            assert call.deadline is not None
            assert before + 60 <= call.deadline <= late
        else:
            assert call.deadline is None
    assert bench.run() == [[1, 2, 3, 4, 5, 6, 7]]
    assert decode(bench.frames()[3].value) == [3, 0]
