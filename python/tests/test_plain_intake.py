"""Plain calls, from the bytes that they come in."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.compact_frames import compact
from support.plain_bench import Bench

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.framed_transport.frame_parser import FRAME, SIGNAL, framed
from snakepit_bridge.bridge.plain_intake import PlainIntake
from snakepit_bridge.calls.context.call import NOT_SAMPLED
from snakepit_bridge.calls.run.plain_call import PlainCall
from snakepit_bridge.values.decode import decode


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def call_frame(number: int, name: str, **more: Any) -> bytes:
    data = compact(pb.Call(call_id=number, tool=name, arguments=b"\x90", **more))
    assert data is not None
    return framed(FRAME, data)


# Its time limit would be in what follows.
SHORT_OF_ITS_FIELDS = framed(FRAME, b"\0\0\0\0\7\3\1see")
NOT_ASCII = framed(FRAME, b"\0\0\0\0\7\3\4see\1\xff\x90")


@pytest.mark.parametrize(
    "other",
    [
        framed(SIGNAL, b"\0" * 20),
        framed(SIGNAL, call_frame(7, "see")[5:]),
        framed(FRAME, b"\1" + call_frame(7, "see")[6:]),
        framed(FRAME, pb.HostFrame(cancel=pb.Cancel(call_id=7)).SerializeToString()),
        call_frame(7, "see", session_id="a", timeout_ms=5),
        call_frame(7, "see", timeout_ms=5)[:-4],
        SHORT_OF_ITS_FIELDS,
        SHORT_OF_ITS_FIELDS + call_frame(8, "see"),
        NOT_ASCII,
        call_frame(7, "unknown"),
        call_frame(1, "see"),
        call_frame(7, "see")[:-1],
        call_frame(7, "see")[:11],
        framed(FRAME, b"\0" * 6),
        framed(FRAME, b"\0\0\0\0\7\xff\0see"),
        b"",
    ],
)
def test_plain_calls_are_taken_up_to_the_first_other_message(
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
    assert all(call.is_wanted for call in bench.waiting)


def test_a_call_that_is_added_waits_for_its_turn(bench: Bench) -> None:
    sink: Any = bench.table
    call = PlainCall.of(1, bench.tools[b"see"][0], b"\x90", sink)
    bench.intake.add(call)
    assert bench.table.running == {1: call}
    assert [*bench.waiting] == [call]


def test_a_call_may_have_no_arguments_and_be_as_long_as_a_message(
    bench: Bench,
) -> None:
    calls = [pb.Call(call_id=1, tool="see"), pb.Call(call_id=2, tool="see")]
    calls[1].timeout_ms = 60_000
    data = b"".join(framed(FRAME, compact(call) or b"") for call in calls)
    bench.table.max_message_bytes = len(data)
    bench.intake = PlainIntake(bench.table, bench.tools)
    queue: Any = SimpleNamespace(waiting=bench.waiting, look=lambda: None)
    bench.intake.begin(queue)
    assert bench.intake.take(data) == len(data)
    assert bench.run() == [[1, 2]]


def test_what_may_be_too_large_is_left_to_who_cuts_messages(bench: Bench) -> None:
    bench.table.max_message_bytes = 40
    bench.intake = PlainIntake(bench.table, bench.tools)
    assert bench.intake.take(call_frame(1, "see") * 3) == 0
    assert not bench.waiting


def test_a_call_with_a_deadline_or_a_trace_is_as_plain(bench: Bench) -> None:
    before = time.monotonic()
    trace = {"traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-00"}
    data = (
        call_frame(1, "see", timeout_ms=60_000)
        + call_frame(2, "see", trace_context=trace)
        + call_frame(3, "see", timeout_ms=60_000, trace_context=trace)
        + call_frame(4, "see")
        + call_frame(5, "see", trace_context={"traceparent": NOT_SAMPLED})
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
