"""Calls, from the bytes that they come in."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgpack
import pytest
from support.call_bench import Bench
from support.packed_frames import packed_call

from snakepit_bridge.bridge.call_intake import CallIntake
from snakepit_bridge.bridge.framed_transport.frame_parser import (
    FRAME,
    HEADER,
    SIGNAL,
    framed,
)
from snakepit_bridge.values.decode import decode


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
    )
    assert bench.intake.take(data) == len(data)
    *calls, unsampled = [call.call for call in bench.waiting]
    assert unsampled.trace_context["traceparent"].endswith("-00")
    assert [call.trace_context for call in calls] == [{}, trace, trace, {}]
    late = time.monotonic() + 60
    for call, has_deadline in zip(calls, (True, False, True, False), strict=True):
        if has_deadline:
            assert call.deadline is not None
            assert before + 60 <= call.deadline <= late
        else:
            assert call.deadline is None
    assert bench.run() == [[1, 2, 3, 4, 5]]
    assert decode(bench.frames()[3].value) == [3, 0]
