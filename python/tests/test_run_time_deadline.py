"""Deadlines count only time in which this process runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from snakepit_bridge.bridge.framed_transport.reception import RunTimeDeadline


class Timer:
    def __init__(self, when: float, callback: Callable[[], object]) -> None:
        self.when = when
        self.callback = callback
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class VirtualTimers:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self._now = 1_000.0
        self._timers: list[Timer] = []

    def as_loop(self) -> asyncio.AbstractEventLoop:
        return cast(asyncio.AbstractEventLoop, self)

    def time(self) -> float:
        return self._now

    def call_at(self, when: float, callback: Callable[[], object]) -> Timer:
        timer = Timer(when, callback)
        self._timers.append(timer)
        return timer

    def stall(self, seconds: float) -> None:
        """The process stands still: what is due then is late."""
        self._now += seconds

    def run(self, seconds: float) -> None:
        """Time passes, and what is due happens."""
        end = self._now + seconds
        while due := [timer for timer in self._timers if timer.when <= end]:
            timer = min(due, key=lambda each: each.when)
            self._timers.remove(timer)
            self._now = max(self._now, timer.when)
            if not timer.is_cancelled:
                timer.callback()
        self._now = end


def acts_at(seconds: float, stall_after: float, stalled: float) -> float:
    """Returns when `seconds` are over for one who stands still in between."""
    time = VirtualTimers()
    began = time.time()
    acted: list[float] = []
    RunTimeDeadline(time.as_loop(), seconds, lambda: acted.append(time.time() - began))
    time.run(stall_after)
    time.stall(stalled)
    time.run(1_000)
    (when,) = acted
    return when


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.5, 0.75, 5.0])
def test_time_in_which_the_process_runs_counts(seconds: float) -> None:
    assert acts_at(seconds, 0, 0) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("seconds", "after", "acts"),
    [(5, 0.25, 65.25), (5, 4.75, 65.25), (0.25, 0.125, 60.375)],
)
def test_a_minute_in_which_the_process_is_stopped_does_not_count(
    seconds: float, after: float, acts: float
) -> None:
    assert acts_at(seconds, after, 60) == pytest.approx(acts)


def test_a_short_delay_counts() -> None:
    assert acts_at(5, 2.375, 0.375) == pytest.approx(5.25)


def test_a_cancelled_deadline_does_nothing() -> None:
    time = VirtualTimers()
    acted: list[bool] = []
    deadline = RunTimeDeadline(time.as_loop(), 5, lambda: acted.append(True))
    time.run(2)
    deadline.cancel()
    time.run(10)
    assert acted == []
