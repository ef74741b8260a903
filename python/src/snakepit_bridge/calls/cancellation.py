"""The cancellation of one call, shared by the threads that work on it."""

from __future__ import annotations

import time
from collections.abc import Callable

from snakepit_bridge.calls.cancelled import CallCancelled
from snakepit_bridge.calls.wakeup import Wakeup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.calls.cancel_reason import CancelReason

__all__ = ["CLEAN_UP_S", "Cancellation"]

# A tool that handles its cancellation is not interrupted again for this long. It may
# wait for ever for a process or for the threads of a pool.
CLEAN_UP_S = 1.0


class Cancellation:
    """Whether a call was cancelled, and the code that waits on its behalf.

    Attributes:
        reason: why it was cancelled; None if it was not.
        by_signal: whether the cancel signal raises `CallCancelled` in the main
            thread while that runs code of this call.
        looks: how often the handler of that signal was called since it was sent.
        last_look: how many signals were sent then, and where the code was; None if
            that is of no use.
    """

    # Attributes of the class until they change: each call has one of these objects, and
    # few calls change it.
    reason: CancelReason | None = None
    by_signal = False
    looks = 0
    last_look: tuple[int, tuple[int, int]] | None = None
    _undisturbed_until = 0.0

    def __init__(self) -> None:
        self._waiting: list[Wakeup] = []

    def request(self, reason: CancelReason) -> None:
        """Cancels the call and wakes waiting code; in the bridge's thread."""
        if self.reason is None:
            self.leave_alone()
            self.reason = reason
        for wakeup in list(self._waiting):
            wakeup.notify()

    def raise_if_requested(self) -> None:
        """Raises `CallCancelled` if the call was cancelled."""
        if self.reason is not None:
            raise CallCancelled(self.reason)

    def leave_alone(self) -> None:
        """Begins the time in which a clean-up is not interrupted."""
        self._undisturbed_until = time.monotonic() + CLEAN_UP_S

    def may_clean_up(self) -> bool:
        """Returns whether a clean-up must not be interrupted yet."""
        return time.monotonic() < self._undisturbed_until

    def watch(self, wakeup: Wakeup) -> None:
        """Notifies a wakeup when the call is cancelled."""
        self._waiting.append(wakeup)

    def forget(self, wakeup: Wakeup) -> None:
        """Stops notifying a wakeup."""
        self._waiting.remove(wakeup)

    def or_requested(self, ready: Callable[[], bool]) -> Callable[[], bool]:
        """Returns a condition: `ready`, or the call was cancelled."""
        return lambda: ready() or self.reason is not None
