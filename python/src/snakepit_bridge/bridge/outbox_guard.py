"""Frames that are held back do not wait for user code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from snakepit_bridge.bridge.call_soon import call_soon
from snakepit_bridge.calls.gathering import Gathering

__all__ = ["LEAST_PATIENCE_S", "OutboxGuard"]

# So long the main thread may be at something before the bridge's acts in its place.
LEAST_PATIENCE_S = 0.001


class OutboxGuard:
    """Has the bridge's thread send what the main thread holds back for too long.

    `flush` is called in the bridge's thread.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        gathering: Gathering,
        flush: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._gathering = gathering
        self._flush = flush
        self._is_watching = False

    def watch(self) -> None:
        """Watches from now on, until the main thread stands still; in that thread."""
        if not self._is_watching:
            self._is_watching = True
            call_soon(self._loop, self._wait)

    # ------------------------------------------------ in the bridge's thread

    def _wait(self) -> None:
        self._loop.call_later(LEAST_PATIENCE_S, self._look, self._gathering.progress)

    def _look(self, seen: int) -> None:
        if self._gathering.progress == seen:
            # Idle, or held up: both are reasons to stop looking after this.
            self._is_watching = False
            self._flush()
        else:
            self._wait()
