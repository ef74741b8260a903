"""Frames that are held back do not wait for user code."""

from __future__ import annotations

import asyncio

from snakepit_bridge.bridge.call_soon import call_soon
from snakepit_bridge.calls.gathering import Gathering

__all__ = ["LEAST_PATIENCE_S", "OutboxGuard"]

# So long the main thread may be at something before the bridge's acts in its place.
LEAST_PATIENCE_S = 0.001


class OutboxGuard:
    """Has the bridge's thread send what the main thread holds back for too long."""

    def __init__(self, loop: asyncio.AbstractEventLoop, gathering: Gathering) -> None:
        self._loop = loop
        self._gathering = gathering
        # Set in the bridge's thread alone: the other can be interrupted anywhere.
        self._timer: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        """Watches from now on, until the main thread stands still; in that thread."""
        if self._timer is None:
            call_soon(self._loop, self._begin)

    # ------------------------------------------------ in the bridge's thread

    def _begin(self) -> None:
        if self._timer is None:
            self._wait()

    def _wait(self) -> None:
        self._timer = self._loop.call_later(
            LEAST_PATIENCE_S, self._look, self._gathering.progress
        )

    def _look(self, seen: int) -> None:
        # In this order: a main thread that still saw itself watched has got on.
        self._timer = None
        if self._gathering.progress == seen:
            # Idle, or held up: both are reasons to stop looking after this. What
            # the turn still answers is sent at once, for nobody looks after it.
            self._gathering.release()
        else:
            self._wait()
