"""The bridge's thread takes over from a main thread that is busy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from snakepit_bridge.bridge.call_soon import call_soon
from snakepit_bridge.bridge.framed_transport.outbox import FramedOutbox
from snakepit_bridge.bridge.framed_transport.reading_main_thread import (
    ReadingMainThread,
)
from snakepit_bridge.bridge.framed_transport.shared_selector import SharedSelector

__all__ = ["Relief"]

# So long the main thread may be at something before it is relieved; under load,
# where it never is at one thing for long, it is looked at less often.
LEAST_PATIENCE_S = 0.001
MOST_PATIENCE_S = 0.004


class Relief:
    """Reads and writes what the main thread leaves while user code holds it up.

    The kernel wakes this thread when something arrives and the main thread does
    not wait for it. Mostly it will in a moment, and taking over would cost both
    more than the moment: so this thread looks a second time, and reads only if
    the main thread is still at the same thing. What the main thread holds back to
    write together is looked after likewise.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        selector: SharedSelector,
        main: ReadingMainThread,
        outbox: FramedOutbox,
    ) -> None:
        self._loop = loop
        self._selector = selector
        self._main = main
        self._outbox = outbox
        self._descriptor = -1
        self._read: Callable[[], None] = lambda: None
        self._patience = LEAST_PATIENCE_S
        self._stuck_at = -1
        self._guards_outbox = False

    # ------------------------------------------------ in the bridge's thread

    def begin(self, descriptor: int, read: Callable[[], None]) -> None:
        """Stands by; the main thread shares the descriptor already."""
        self._descriptor = descriptor
        self._read = read
        self._selector.share(descriptor, self._left_lying)

    def end(self) -> None:
        """Stands by no more."""
        self._descriptor = -1
        self._selector.unshare()

    def _left_lying(self) -> None:
        if self._main.progress == self._stuck_at:
            self._read()
            return
        self._selector.unshare()
        self._loop.call_later(self._patience, self._look_again, self._main.progress)

    def _look_again(self, seen: int) -> None:
        if self._descriptor < 0:
            return
        if self._main.progress == seen:
            self._stuck_at = seen
            self._patience = LEAST_PATIENCE_S
            self._read()
        else:
            self._patience = min(2 * self._patience, MOST_PATIENCE_S)
        if self._descriptor >= 0:
            self._selector.share(self._descriptor, self._left_lying)

    def _guard_outbox(self) -> None:
        self._loop.call_later(
            LEAST_PATIENCE_S, self._look_at_outbox, self._main.progress
        )

    def _look_at_outbox(self, seen: int) -> None:
        if self._main.progress == seen:
            # Idle, or held up: both are reasons to stop looking after this.
            self._guards_outbox = False
            self._outbox.flush()
        else:
            self._guard_outbox()

    # ------------------------------------------------ in the main thread

    def guard_outbox(self) -> None:
        """Sees to it that frames that are held back now do not wait for user code."""
        if not self._guards_outbox:
            self._guards_outbox = True
            call_soon(self._loop, self._guard_outbox)
