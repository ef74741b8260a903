"""Answers of one turn leave together, for hosts that wait for several.

What a message costs, the frames in it share: one that leaves alone while others
are about to come makes each of them dearer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ["Gathering", "HoldingOutbox"]


class HoldingOutbox(Protocol):
    """What frames are held back in.

    Attributes:
        held: whether the main thread gathers frames and will `flush` them, unless
            there are many of them before.
    """

    held: bool

    def flush(self) -> None:
        """Has what waits leave."""


class Gathering:
    """What the main thread does before and after its turns.

    It does nothing before it is told with which outbox.

    Attributes:
        progress: differs whenever another thread looks at it and the main thread
            got on since.
    """

    def __init__(self) -> None:
        self.progress = 0
        self._outbox: HoldingOutbox | None = None
        self._wants_to_hold: Callable[[], bool] = lambda: False
        self._on_hold: Callable[[], None] = lambda: None

    def begin(
        self,
        outbox: HoldingOutbox,
        wants_to_hold: Callable[[], bool],
        on_hold: Callable[[], None],
    ) -> None:
        """Gathers from now on; from any thread.

        Args:
            outbox: where the frames are held back.
            wants_to_hold: whether what the next turn answers is to leave together.
            on_hold: is called when frames are held back while user code runs.
        """
        self._on_hold = on_hold
        self._wants_to_hold = wants_to_hold
        # Last: what is held back from here on is watched.
        self._outbox = outbox

    def next_turn(self) -> None:
        """Has the frames of the turn that ends leave, before the next one begins."""
        self.progress += 1
        self.release()
        if self._wants_to_hold():
            self.hold()

    def hold(self) -> None:
        """Holds back what comes from here on."""
        if self._outbox is not None:
            self._outbox.held = True
            self._on_hold()

    def release(self) -> None:
        """Has what was held back leave, and what comes from here on at once; in
        the main thread or the bridge's."""
        if self._outbox is not None:
            self._outbox.held = False
            self._outbox.flush()
