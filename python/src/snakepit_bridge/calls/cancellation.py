"""The cancellation of one call, as the threads that work on it see it."""

from __future__ import annotations

import time
from collections.abc import Callable

from snakepit_bridge.calls.cancelled import CallCancelled, CancelReason
from snakepit_bridge.calls.wakeup import Wakeup

__all__ = ["CLEAN_UP_S", "Cancellation"]

# So long a tool that handles its cancellation is left alone. What it waits for
# then - a process, a pool's threads - may never come.
CLEAN_UP_S = 1.0


class Cancellation:
    """Whether a call is to end, and who waits on its behalf.

    Attributes:
        reason: why it is to end; None while it is not.
        by_signal: whether the cancel signal raises `CallCancelled` in the main
            thread while it runs code of this call.
    """

    __slots__ = ("_undisturbed_until", "_waiting", "by_signal", "reason")

    def __init__(self) -> None:
        self.reason: CancelReason | None = None
        self.by_signal = False
        self._undisturbed_until = 0.0
        self._waiting: list[Wakeup] = []

    def request(self, reason: CancelReason) -> None:
        """Asks for the end and wakes what waits; in the bridge's thread."""
        if self.reason is None:
            self.leave_alone()
            self.reason = reason
        for wakeup in list(self._waiting):
            wakeup.notify()

    def raise_if_requested(self) -> None:
        """Raises `CallCancelled` once the end is asked for."""
        if self.reason is not None:
            raise CallCancelled(self.reason)

    def leave_alone(self) -> None:
        """Begins the time in which a clean-up is not disturbed."""
        self._undisturbed_until = time.monotonic() + CLEAN_UP_S

    def may_clean_up(self) -> bool:
        """Returns whether a clean-up is still not to be disturbed."""
        return time.monotonic() < self._undisturbed_until

    def watch(self, wakeup: Wakeup) -> None:
        """Has a wakeup notified when the end is asked for."""
        self._waiting.append(wakeup)

    def forget(self, wakeup: Wakeup) -> None:
        """Takes a wakeup back."""
        self._waiting.remove(wakeup)

    def or_requested(self, ready: Callable[[], bool]) -> Callable[[], bool]:
        """Returns what to wait for: `ready`, or that the end is asked for."""
        return lambda: ready() or self.reason is not None
