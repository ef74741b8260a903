"""Sends answers that are ready at the same time in one message. The frames of a message
share its cost. A frame that is sent alone while others are about to follow makes each
of them more expensive.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns

from snakepit_bridge.threads.bridge_loop import call_soon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from snakepit_bridge.threads.bridge_loop import Loop, Timer
else:
    Protocol = object

# The main thread may be busy with one thing for this long before the bridge's thread
# acts in its place.
SHORTEST_WAIT_S = 0.001
# In a worker that runs one call at a time, answers wait for the next ones no longer
# than this, unless one call takes longer.
MOST_HELD_NS = 250_000


class HoldingOutbox(Protocol):
    """Where frames are held back.

    Attributes:
        held: whether the main thread gathers frames and will `flush` them, unless
            there are many of them before.
    """

    held: bool

    def flush(self) -> None:
        """Sends the frames that wait."""


class _NoOutbox:
    """Before there is a host to send to."""

    held = False

    def flush(self) -> None:
        """Sends nothing."""


class WriteCoalescer:
    """Holds back frames of the main thread, and makes sure that they are sent in time.

    Attributes:
        progress: changes whenever the main thread finishes something, so that another
            thread can see its progress.
        outbox: where frames are held back.
    """

    def __init__(self, now_ns: Callable[[], int] = perf_counter_ns) -> None:
        self.progress = 0
        self.outbox: HoldingOutbox = _NoOutbox()
        self._loop: Loop | None = None
        self._wants_to_hold: Callable[[], bool] = lambda: False
        self._now_ns = now_ns
        self._released_ns = 0
        # Set only in the bridge's thread: the main thread can be interrupted anywhere.
        self._timer: Timer | None = None

    def begin(
        self,
        outbox: HoldingOutbox,
        loop: Loop,
        wants_to_hold: Callable[[], bool],
    ) -> None:
        """Gathers from now on; from any thread.

        Args:
            outbox: where the frames are held back.
            loop: the loop of the bridge's thread, which sends frames that the main
                thread holds back for longer than `SHORTEST_WAIT_S`.
            wants_to_hold: whether the answers of the next turn are sent together.
        """
        self._loop = loop
        self._wants_to_hold = wants_to_hold
        # Last: from here on frames may be held back, and there is a loop to send them.
        self.outbox = outbox

    def end_turn(self, another_follows: bool) -> None:
        """Sends the frames of the turn that ends, unless they may wait for those of
        another one that follows at once."""
        self.progress += 1
        may_wait = another_follows and self.outbox.held
        if not may_wait or self._now_ns() - self._released_ns > MOST_HELD_NS:
            self.release()

    def begin_turn(self) -> None:
        """Holds back the frames of the turn that begins, if they are to leave
        together."""
        self.progress += 1
        if self._wants_to_hold():
            self.hold()

    def hold(self) -> None:
        """Holds back frames from here on, until they leave in time; in the main thread,
        which has changed `progress` since it may have been seen to be idle."""
        self.outbox.held = True
        if self._timer is None and self._loop is not None:
            call_soon(self._loop, self._begin_to_watch)

    def release(self) -> None:
        """Sends the frames that were held back, and later ones at once; in the main
        thread or the bridge's.
        """
        self._released_ns = self._now_ns()
        self.outbox.held = False
        self.outbox.flush()

    # ------------------------------------------------ in the bridge's thread

    def _begin_to_watch(self) -> None:
        if self._timer is None:
            self._watch()

    def _watch(self) -> None:
        if self._loop is not None:
            self._timer = self._loop.call_later(
                SHORTEST_WAIT_S, self._look, self.progress
            )

    def _look(self, progress: int) -> None:
        # Cleared first: a main thread that still finds a timer here has made progress.
        self._timer = None
        if self.progress == progress:
            # The main thread is idle or blocked. Either way no timer is left
            # after this, so the rest of its turn is sent frame by frame.
            self.release()
        else:
            self._watch()
