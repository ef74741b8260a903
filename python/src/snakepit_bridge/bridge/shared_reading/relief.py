"""The bridge's thread takes over from a main thread that is busy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from snakepit_bridge.bridge.outbox_guard import LEAST_PATIENCE_S
from snakepit_bridge.bridge.shared_reading.reading_main_thread import (
    ReadingMainThread,
)
from snakepit_bridge.bridge.shared_reading.shared_selector import SharedSelector

__all__ = ["Relief"]

# Under load, where the main thread is never at one thing for long, it is looked at
# less often.
MOST_PATIENCE_S = 0.004


class Relief:
    """Reads what the main thread leaves while user code holds it up.

    The kernel wakes this thread when something arrives and the main thread does
    not wait for it. Mostly it will in a moment, and taking over would cost both
    more than the moment: so this thread looks a second time, and reads only if
    the main thread is still at the same thing.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        selector: SharedSelector,
        main: ReadingMainThread,
    ) -> None:
        self._loop = loop
        self._selector = selector
        self._main = main
        self._descriptors: Collection[int] = ()
        self._read: Callable[[], None] = lambda: None
        self._patience = LEAST_PATIENCE_S
        self._stuck_at = -1

    # ------------------------------------------------ in the bridge's thread

    def begin(self, descriptors: Collection[int], read: Callable[[], None]) -> None:
        """Stands by; the main thread shares the descriptors already."""
        self._descriptors = descriptors
        self._read = read
        self._selector.share(descriptors, self._left_lying)

    def end(self) -> None:
        """Stands by no more."""
        self._descriptors = ()
        self._selector.unshare()

    def _left_lying(self) -> None:
        if self._main.gathering.progress == self._stuck_at:
            self._read()
            return
        self._selector.unshare()
        self._loop.call_later(
            self._patience, self._look_again, self._main.gathering.progress
        )

    def _look_again(self, seen: int) -> None:
        if not self._descriptors:
            return
        if self._main.gathering.progress == seen:
            self._stuck_at = seen
            self._patience = LEAST_PATIENCE_S
            self._read()
        else:
            self._patience = min(2 * self._patience, MOST_PATIENCE_S)
        if self._descriptors:
            self._selector.share(self._descriptors, self._left_lying)
