"""Who ends a call of a batch, whatever comes first; the test takes each step itself."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from types import SimpleNamespace
from typing import Any

from snakepit_bridge import CallCancelled, CancelReason
from snakepit_bridge.calls.cancel.cancellation import Cancellation
from snakepit_bridge.calls.context.batch_call import BatchCall
from snakepit_bridge.calls.run.batches import RunningBatch
from snakepit_bridge.failures.failure import cancelled
from snakepit_bridge.frames import Failure, FailureCode


class Caller:
    """A call that keeps how it was settled."""

    def __init__(self, number: int, deadline: float | None = None) -> None:
        self.number = number
        self.call = SimpleNamespace(call_id=number, tool="together", deadline=deadline)
        self.cancellation = Cancellation()
        self.interrupt: Callable[[], None] = lambda: None
        self.began = False
        self.settled: list[Any] = []

    def begin(self) -> bool:
        return True

    def enter(self, _ns: int, _batch: object) -> tuple[tuple[int], dict[str, Any]]:
        self.began = True
        self.cancellation.raise_if_requested()
        return (self.call.call_id,), {}

    def failed(self, error: BaseException) -> object:
        reason = self.cancellation.reason
        assert reason is not None
        return cancelled(self.number, reason, error, began=self.began)

    def result(self, value: object) -> object:
        return value

    def settle(self, frame: Any) -> None:
        self.settled.append(frame)

    def leave(self) -> None:
        """What the bridge's thread does, again until the call has ended."""
        self.cancellation.request(CancelReason.CALLER)
        self.interrupt()


class Bench:
    """A batch of three, of which nothing runs by itself."""

    def __init__(self) -> None:
        self.callers = [Caller(number) for number in (1, 2, 3)]
        self.elsewhere: list[Callable[[], None]] = []
        calls: list[Any] = list(self.callers)
        tool: Any = SimpleNamespace(is_async=False)
        self.batch = RunningBatch(
            tool, calls, copy_context(), None, self.elsewhere.append
        )
        self.interrupted = 0
        self.batch.interrupt = self._interrupt

    def _interrupt(self) -> None:
        self.interrupted += 1

    @property
    def settled(self) -> list[list[Any]]:
        return [
            ["left" if isinstance(each, Failure) else each for each in caller.settled]
            for caller in self.callers
        ]


def test_a_caller_that_leaves_is_settled_elsewhere_and_once() -> None:
    bench = Bench()
    assert bench.batch.begin()
    assert bench.batch.take_items() == [1, 2, 3]
    for _ in range(3):
        bench.callers[1].leave()
    assert bench.settled == [[], [], []]
    bench.batch.answer(["a", "b", "c"])
    (settle,) = bench.elsewhere
    settle()
    assert bench.settled == [["a"], ["left"], ["c"]]
    frame = bench.callers[1].settled[0]
    assert (frame.code, frame.began) == (FailureCode.CANCELLED, True)
    assert bench.interrupted == 0


def test_the_function_is_interrupted_until_it_ends_when_the_last_one_has_left() -> None:
    bench = Bench()
    assert bench.batch.begin()
    for caller in bench.callers:
        caller.leave()
    assert bench.batch.cancellation.reason is CancelReason.CALLER
    bench.callers[2].leave()
    assert bench.interrupted == 2
    for settle in bench.elsewhere:
        settle()
    # The last one waits for the function, so that the host sees one that hangs.
    assert bench.settled == [["left"], ["left"], []]
    bench.batch.fail(CallCancelled(CancelReason.CALLER))
    assert bench.settled == [["left"], ["left"], ["left"]]


def test_a_caller_that_leaves_while_the_batch_begins_is_not_in_the_list() -> None:
    bench = Bench()
    first, second, _ = bench.callers
    enter = second.enter

    def leave_meanwhile(*about: Any) -> tuple[tuple[int], dict[str, Any]]:
        first.leave()
        second.leave()
        return enter(*about)

    second.enter = leave_meanwhile  # type: ignore[method-assign, assignment]
    assert bench.batch.begin()
    assert bench.batch.take_items() == [1, 3]
    assert bench.settled == [[], ["left"], []]
    # The first one was in the list by then; the bridge's thread asks again.
    first.leave()
    assert len(bench.elsewhere) == 1


def test_nothing_runs_when_nobody_stays() -> None:
    bench = Bench()
    for caller in bench.callers:
        caller.leave()
    assert not bench.batch.begin()
    assert bench.settled == [["left"], ["left"], ["left"]]
    assert bench.batch.size == 0


def test_a_batch_has_the_last_deadline_if_each_call_has_one() -> None:
    def deadline(*deadlines: float | None) -> float | None:
        calls: list[Any] = [Caller(1, each).call for each in deadlines]
        return BatchCall(calls, Cancellation(), is_async=False).deadline

    assert deadline(5.0, 7.0, 6.0) == 7.0
    assert deadline(5.0, None) is None
