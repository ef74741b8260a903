"""Calls that run one after the other, with the main thread played by the test."""

from __future__ import annotations

import struct
from contextvars import Context
from pathlib import Path
from typing import Any

import pytest
from support.call_bench import SEEN, Bench

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
from snakepit_bridge.calls.context.call import NOT_SAMPLED
from snakepit_bridge.calls.context.host_calls import Reply
from snakepit_bridge.calls.run.running_call import CallState
from snakepit_bridge.frames import Progress
from snakepit_bridge.values.decode import decode


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_answers_leave_together_but_none_waits_for_long(bench: Bench) -> None:
    for number, us in enumerate((100, 150, 1, 1, 251, 1), 1):
        bench.submit(number, "takes", [us])
    assert bench.run() == [[1, 2, 3], [4, 5], [6]]
    assert bench.coalescer.progress == 6
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
    bench.waiting[-1].is_usual = False
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
    call = bench.waiting[1]
    # The answer of the call before it does not wait for its end; the next one has not begun.
    assert bench.run() == [[1]]
    assert [each.number for each in bench.waiting] == [3]
    ((running, context, awaitable),) = bench.going_on
    assert running is call
    assert call.state is CallState.RUNNING
    assert context.get(SEEN) == 7
    awaitable.close()
    bench.queue.look()
    assert bench.run() == [[1]]
    call.settle(call.failed(ValueError()))
    assert bench.run() == [[1], [2], [3]]


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

    def idle_context(self, context: Context, traceparent: str | None) -> Context:
        self.asked.append(traceparent)
        if traceparent is None:
            return context.copy()
        made = context.copy()
        made.run(SEEN.set, 100 if traceparent is NOT_SAMPLED else 50)
        return made


def test_a_call_that_nothing_records_runs_in_a_context_that_has_its_caller(
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
    assert values == [[1, 50], [2, 100], [3, 0]]
    assert tracing.asked == ["a-trace", NOT_SAMPLED, None]


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


def test_what_was_recalled_or_withdrawn_does_not_begin(bench: Bench) -> None:
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
    call = bench.submit(1, "takes", [1])
    begins = bench.page.begins

    def begins_and_is_cancelled(number: int) -> bool:
        call.cancel(CancelReason.DEADLINE)
        return begins(number)

    bench.begins_by(begins_and_is_cancelled)
    bench.run()
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


def test_coroutines_begin_in_the_loop_and_functions_outside_of_it(bench: Bench) -> None:
    main = bench.main
    bench.submit(1, "takes", [1])
    coroutine = bench.submit(2, "waits")
    bench.submit(3, "takes", [1])
    assert (len(main.work), main.for_loop) == (1, [])
    assert bench.run() == [[1]]
    main.for_loop.pop()()
    assert bench.tasks_started == 1
    # Whatever comes, nothing begins until it is over.
    bench.waiting.remove(coroutine)
    bench.submit(4, "takes", [1])
    assert bench.run() == [[1]]
    bench.queue.tasks_ended()
    assert bench.run() == [[1], [3, 4]]


def test_a_function_that_is_first_after_a_cancel_begins_outside_of_the_loop(
    bench: Bench,
) -> None:
    bench.submit(1, "waits")
    bench.submit(2, "takes", [1])
    bench.waiting.popleft()
    bench.main.for_loop.pop()()
    assert bench.tasks_started == 0
    assert bench.run() == [[2]]


def test_a_call_that_comes_while_another_one_runs_is_seen_without_another_look(
    bench: Bench,
) -> None:
    late: list[int] = []

    def comes_late() -> None:
        bench.submit(2, "takes", [1])
        late.append(len(bench.main.work))

    bench.meanwhile = comes_late
    bench.submit(1, "other")
    assert bench.run() == [[1, 2]]
    assert late == [0]


def test_the_end_of_a_call_that_is_not_its_turn_begins_nothing(bench: Bench) -> None:
    bench.submit(1, "promise")
    waiting = bench.submit(2, "takes", [1])
    bench.run()
    bench.queue.over(waiting)
    assert bench.run() == []
    bench.going_on[0][2].close()


def test_a_handler_that_raises_in_the_bridge_ends_one_call_only(bench: Bench) -> None:
    bench.submit(1, "takes", [1])
    bench.submit(2, "takes", [2])

    def interrupted(_: int) -> bool:
        raise KeyboardInterrupt

    bench.begins_by(interrupted)
    with pytest.raises(KeyboardInterrupt):
        bench.run()
    bench.begins_by(bench.page.begins)
    bench.run()
    frames = bench.frames()
    assert frames[1].error.type == "KeyboardInterrupt"
    assert decode(frames[2].value) == 2
    assert bench.table.running == {}
