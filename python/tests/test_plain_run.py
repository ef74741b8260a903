"""Plain calls that run one after the other, without a process."""

from __future__ import annotations

import struct
from contextvars import Context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.plain_bench import SEEN, Bench

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
from snakepit_bridge.calls.context.call import NOT_SAMPLED
from snakepit_bridge.calls.context.host_calls import Reply
from snakepit_bridge.calls.run.call_state import CallState
from snakepit_bridge.frames import Progress
from snakepit_bridge.values.decode import decode


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_answers_leave_together_but_none_waits_for_long(bench: Bench) -> None:
    for number, us in enumerate((100, 150, 1, 1, 251, 1), 1):
        bench.submit(number, "takes", [us])
    assert bench.run() == [[1, 2, 3], [4, 5], [6]]
    assert bench.gathering.progress == 6
    assert bench.table.running == {}


def test_no_more_than_so_many_answers_leave_together(bench: Bench) -> None:
    for number in range(1, 20):
        bench.submit(number, "takes", [0])
    assert [len(together) for together in bench.run()] == [8, 8, 3]


def test_a_call_begins_when_the_one_before_it_ends(bench: Bench) -> None:
    for number, us in ((1, 7), (2, 400), (3, 5)):
        bench.submit(number, "takes", [us])
    # What is unusual about a call is done by the call itself.
    bench.submit(4, "takes", [2])
    bench.waiting[-1].is_wanted = False
    bench.submit(5, "other")
    bench.submit(6, "takes", [1])
    bench.run()
    heads = [struct.unpack_from(">3xIxIxI", frame, 5) for frame in bench.outbox.added]
    assert heads[:3] == [(1, 5000, 7), (2, 5007, 400), (3, 5407, 5)]
    assert [head[:2] for head in heads[3:]] == [(4, 5412), (5, 5414), (6, 5414)]


def test_a_call_that_made_an_awaitable_goes_on_alone_in_its_own_context(
    bench: Bench,
) -> None:
    for number, name in enumerate(["see", "promise", "see"], 1):
        bench.submit(number, name)
    plain = bench.waiting[1]
    first = bench.waiting.popleft()
    assert bench.plain_run.run(first, bench.waiting) is plain
    # The answer of the call before it does not wait for its end; the next one has not begun.
    assert bench.sent() == [[1]]
    assert [call.number for call in bench.waiting] == [3]
    ((running, context, made),) = bench.going_on
    assert running is plain
    assert plain.state is CallState.RUNNING
    assert context.get(SEEN) == 7
    made.close()
    assert bench.plain_run.run(bench.waiting.popleft(), bench.waiting) is None
    assert bench.sent() == [[1], [3]]


def test_a_call_that_may_have_run_a_loop_is_followed_up_before_the_next_begins(
    bench: Bench,
) -> None:
    # `asyncio.run` takes at least 40 us.
    for number, us in ((1, 40), (2, 5), (3, 40)):
        bench.submit(number, "takes", [us])
    bench.run()
    assert bench.after_loops == [[1, 2, 3], [3]]


def test_a_call_runs_and_has_ended_then(bench: Bench) -> None:
    bench.submit(1, "other")
    bench.submit(2, "takes", [1])
    first, second = bench.waiting
    states: list[CallState] = []
    bench.meanwhile = lambda: states.append(first.state)
    bench.run()
    assert states == [CallState.RUNNING]
    assert second.state is CallState.ENDED


@pytest.mark.parametrize("waits", ["nobody", "for an answer", "for the last call"])
def test_who_waits_is_served_after_each_call(bench: Bench, waits: str) -> None:
    for number in (1, 2):
        bench.submit(number, "takes", [1])
    if waits == "for an answer":
        bench.table.replies[9] = (3, Reply("f"))
    elif waits == "for the last call":
        bench.table.on_forgotten = lambda: None
    followed: list[int] = []
    bench.table.follow_up = followed.append  # type: ignore[method-assign, assignment]
    bench.run()
    assert followed == ([] if waits == "nobody" else [1, 2])


def interrupted(_: object) -> None:
    raise KeyboardInterrupt


class InterruptedList(list[bytes]):
    def append(self, _: bytes) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["its answer leaves", "it is followed up"])
def test_a_handler_that_raises_when_a_call_is_over_ends_it(
    bench: Bench, step: str
) -> None:
    bench.submit(1, "takes", [1])
    bench.submit(2, "takes", [2])
    bench.table.on_forgotten = lambda: None
    if step == "its answer leaves":
        bench.outbox.added = InterruptedList()
    else:
        bench.table.follow_up = interrupted  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        bench.run()
    assert [*bench.table.running] == [2]


class Tracing:
    """Records nothing, and notes whose traces it was asked about."""

    def __init__(self) -> None:
        self.asked: list[str | None] = []

    def is_idle(self, traceparent: str | None) -> bool:
        self.asked.append(traceparent)
        return True

    def unrecorded(self, context: Context) -> Context:
        made = context.copy()
        made.run(SEEN.set, 100)
        return made


def test_a_call_that_is_not_sampled_runs_in_the_context_that_says_so(
    bench: Bench,
) -> None:
    tracing: Any = Tracing()
    bench.table.tracing = tracing
    for number in (1, 2, 3):
        bench.submit(number, "see")
    bench.waiting[0].traceparent = "a-trace"
    bench.waiting[1].traceparent = NOT_SAMPLED
    bench.run()
    values = [decode(frame.value) for frame in bench.frames().values()]
    assert values == [[1, 0], [2, 100], [3, 0]]
    assert tracing.asked == ["a-trace", None]


def test_each_call_has_a_context_of_its_own(bench: Bench) -> None:
    for number in (1, 2, 3):
        bench.submit(number, "see")
    bench.run()
    values = [decode(frame.value) for frame in bench.frames().values()]
    assert values == [[1, 0], [2, 0], [3, 0]]


def test_an_answer_that_is_kept_is_in_the_page_while_the_next_call_runs(
    bench: Bench,
) -> None:
    bench.submit(1, "takes", {"us": 3})
    bench.submit(2, "other")
    kept: list[int] = []
    words = memoryview(bench.page._page).cast("Q")
    bench.meanwhile = lambda: kept.extend((words[0], words[2] & 0xFFFF))
    assert bench.run() == [[1, 2]]
    assert kept == [2, 5 + 22 + 1]


def test_what_a_call_sends_does_not_wait_with_the_answers_before_it(
    bench: Bench,
) -> None:
    bench.submit(1, "takes", [1])
    bench.submit(2, "other")
    bench.submit(3, "takes", [1])
    progress = Progress(2, None, "")
    bench.meanwhile = lambda: bench.outbox.put(progress)
    assert bench.run() == [[1, 2], [2, 3]]


def test_what_was_taken_back_or_withdrawn_does_not_begin(bench: Bench) -> None:
    for number in range(1, 5):
        bench.submit(number, "takes", [number])
    # The host takes back 2 and lets 1 run; 3 is cancelled.
    memoryview(bench.page._page).cast("Q")[1] = 2 * 64 + 1
    bench.table.running[3].cancel(CancelReason.CALLER)
    bench.run()
    frames = bench.frames()
    assert [decode(frames[number].value) for number in (1, 4)] == [1, 4]
    assert frames[2].kind == pb.FAILURE_KIND_RECALLED
    assert frames[3].kind == pb.FAILURE_KIND_CANCELLED
    assert not frames[3].began
    assert bench.table.running == {}


def test_a_call_that_is_cancelled_as_it_begins_fails_and_does_not_run(
    bench: Bench,
) -> None:
    bench.submit(1, "takes", [1])
    call = bench.waiting.popleft()
    call.cancel(CancelReason.DEADLINE)
    assert call.state is CallState.WAITING
    bench.plain_run.run(call, bench.waiting)
    assert bench.frames()[1].kind == pb.FAILURE_KIND_CANCELLED
    assert bench.now_ns == 5_000_000


def test_errors_and_other_values_answer_as_any_call(bench: Bench) -> None:
    bench.submit(1, "fail")
    bench.submit(2, "other")
    bench.submit(3, "takes", ["x"])
    bench.run()
    frames = bench.frames()
    assert (frames[1].kind, frames[1].began) == (pb.FAILURE_KIND_TOOL_FAILED, True)
    assert frames[1].error.type == "ValueError"
    assert decode(frames[2].value) == (1, 2)
    invalid = (frames[3].kind, frames[3].began)
    assert invalid == (pb.FAILURE_KIND_INVALID_ARGUMENTS, False)


def test_another_kind_of_call_is_left_to_whoever_runs_it(bench: Bench) -> None:
    bench.submit(1, "takes", [1])
    other: Any = SimpleNamespace()
    bench.waiting.append(other)
    assert bench.run() == [[1]]
    assert list(bench.waiting) == [other]


def test_a_handler_that_raises_in_the_bridge_ends_one_call_only(bench: Bench) -> None:
    bench.submit(1, "takes", [1])
    bench.submit(2, "takes", [2])

    def interrupted(_: int) -> bool:
        raise KeyboardInterrupt

    begins = bench.page.begins
    bench.page.begins = interrupted  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        bench.run()
    bench.page.begins = begins  # type: ignore[method-assign]
    bench.run()
    frames = bench.frames()
    assert frames[1].error.type == "KeyboardInterrupt"
    assert decode(frames[2].value) == 2
    assert bench.table.running == {}
