"""The calls of one tool that wait for their batch."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from time import monotonic

from snakepit_bridge.calls.call_state import CallState
from snakepit_bridge.calls.running_call import RunningCall
from snakepit_bridge.tools.batch import Batch

__all__ = ["BatchQueue", "expected_after", "wait_s"]

# While a batch runs, this many calls arrive between two searches for calls that have
# ended.
FEW = 256


def expected_after(calls: int, waiting: int) -> int:
    """Returns for how many calls the next batch waits, after one of `calls` calls.

    Callers tend to come again in a moment. Without a wait, the first of them would run
    alone and the others behind it, or two groups would take turns and never join. It
    does not wait if enough callers are already waiting.
    """
    return calls + waiting if waiting <= calls else 0


def wait_s(batch: Batch, calls: int, expected: int, since_s: float) -> float:
    """Returns how many seconds the next batch waits for more calls.

    A call that was alone before, or that comes later, does not wait.

    Args:
        batch: what the tool declares.
        calls: how many wait.
        expected: how many are worth a wait.
        since_s: seconds since the last batch ended.
    """
    if calls >= min(expected, batch.max):
        return 0.0
    return max(0.0, batch.wait_ms / 1000 - since_s)


class BatchQueue:
    """Starts one batch after the other, with the calls that arrived meanwhile."""

    def __init__(
        self,
        batch: Batch,
        begin: Callable[[list[RunningCall]], None],
        later: Callable[[float, Callable[[], None]], None],
        now: Callable[[], float] = monotonic,
    ) -> None:
        """`begin` starts a batch elsewhere; `later` calls back after some seconds."""
        self._batch = batch
        self._begin = begin
        self._later = later
        self._now = now
        self._lock = threading.Lock()
        self._waiting: list[RunningCall] = []
        # "idle", "waits" for more calls, or "runs" a batch.
        self._state = "idle"
        self._waits = 0
        self._expected = 0
        self._ended_at = 0.0
        self._look_through_at = FEW

    def submit(self, running: RunningCall) -> None:
        """Adds a call; from any thread."""
        with self._lock:
            self._waiting.append(running)
            if len(self._waiting) >= self._look_through_at:
                self._forget_ended()
            batch = self._next()
        self._start(batch)

    def over(self, calls: int) -> None:
        """Notes that the running batch is over, and how many calls it had."""
        with self._lock:
            self._state = "idle"
            self._expected = expected_after(calls, len(self._forget_ended()))
            self._ended_at = self._now()
            batch = self._next()
        self._start(batch)

    def _waited(self, wait: int) -> None:
        """The time is over; `wait` says of which wait."""
        with self._lock:
            if self._state != "waits" or wait != self._waits:
                return
            batch = self._take(self._forget_ended())
        self._start(batch)

    def _next(self) -> list[RunningCall]:
        """Takes the next batch, if it begins now."""
        if self._state == "runs":
            return []
        waiting = self._forget_ended()
        now = self._now()
        since = now - self._ended_at
        wait = wait_s(self._batch, len(waiting), self._expected, since)
        if waiting and wait > 0 and not _would_end(waiting, now + wait):
            if self._state == "idle":
                self._state = "waits"
                self._waits += 1
                self._later(wait, functools.partial(self._waited, self._waits))
            return []
        return self._take(waiting)

    def _take(self, waiting: list[RunningCall]) -> list[RunningCall]:
        self._state = "runs" if waiting else "idle"
        self._waiting = waiting[self._batch.max :]
        return waiting[: self._batch.max]

    def _forget_ended(self) -> list[RunningCall]:
        """Returns the calls that wait; one that was cancelled meanwhile has ended."""
        waiting = [each for each in self._waiting if each.state is not CallState.ENDED]
        self._waiting = waiting
        self._look_through_at = max(FEW, 2 * len(waiting))
        return waiting

    def _start(self, batch: list[RunningCall]) -> None:
        if batch:
            self._begin(batch)


def _would_end(waiting: list[RunningCall], until: float) -> bool:
    """Returns whether the deadline of one of them comes before then."""
    deadlines = (each.call.deadline for each in waiting)
    return any(deadline is not None and deadline < until for deadline in deadlines)
