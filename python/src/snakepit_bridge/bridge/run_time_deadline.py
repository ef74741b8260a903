"""Deadlines that count only time in which this process runs."""

from __future__ import annotations

from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.threads.bridge_loop import Loop


# If a timer is this late, the process itself was stopped or suspended.
STANDSTILL_S = 0.5


class RunTimeDeadline:
    """Calls `action` after a number of seconds in which this process ran.

    Messages that arrived while the process was stopped are read before more time is
    counted.
    """

    def __init__(
        self,
        loop: Loop,
        seconds: float,
        action: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._left = seconds
        self._action = action
        self._wait()

    def cancel(self) -> None:
        """Prevents the call of `action`."""
        self._timer.cancel()

    def _wait(self) -> None:
        self._part = min(self._left, STANDSTILL_S)
        self._due = self._loop.time() + self._part
        self._timer = self._loop.call_at(self._due, self._is_due)

    def _is_due(self) -> None:
        if self._loop.time() - self._due < STANDSTILL_S:
            self._left -= self._part
        if self._left > 0:
            self._wait()
        else:
            self._action()
