"""Waiting for somebody else, in time in which this process itself runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ["Patience"]

# A timer this late says that the process itself stood still: stopped or suspended.
STANDSTILL_S = 0.5


class Timer(Protocol):
    """What is to happen at a time."""

    def cancel(self) -> None:
        """It does not happen."""


class Timers(Protocol):
    """What an event loop knows of time."""

    def time(self) -> float:
        """Returns the seconds on its clock."""

    def call_at(self, when: float, callback: Callable[[], object]) -> Timer:
        """Calls `callback` then."""


class Patience:
    """Calls `action` when so many seconds have passed in which this process ran.

    What the other end said while we stood still lies unread, and is read before
    more time is counted.
    """

    def __init__(
        self, timers: Timers, seconds: float, action: Callable[[], None]
    ) -> None:
        self._timers = timers
        self._left = seconds
        self._action = action
        self._wait()

    def cancel(self) -> None:
        """The action is not called any more."""
        self._timer.cancel()

    def _wait(self) -> None:
        self._part = min(self._left, STANDSTILL_S)
        self._due = self._timers.time() + self._part
        self._timer = self._timers.call_at(self._due, self._is_due)

    def _is_due(self) -> None:
        if self._timers.time() - self._due < STANDSTILL_S:
            self._left -= self._part
        if self._left > 0:
            self._wait()
        else:
            self._action()
