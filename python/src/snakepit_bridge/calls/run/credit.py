"""How many chunks of a stream the host still wants."""

from __future__ import annotations

from collections import deque

from snakepit_bridge.calls.cancel.cancellation import Wakeup

# A chunk counts for at least this much, because an object costs more than its encoding.
LEAST_COUNTED_BYTES = 256


class Credit:
    """The thread that reads adds credit, the running tool takes it.

    Each side writes only its own numbers, so that neither needs a lock.
    """

    def __init__(self, chunks: int, small_bytes: int = 0) -> None:
        """Allows a number of chunks.

        Args:
            chunks: how many may be under way.
            small_bytes: more may be under way while all of them together have fewer
                bytes than this.
        """
        self.wakeup = Wakeup()
        self._granted = chunks
        self._taken = 0
        # Used only by the running tool: what the chunks under way count, in order.
        self._window = chunks
        self._small_bytes = small_bytes
        self._sizes: deque[int] = deque()
        self._out_bytes = 0

    def grant(self, chunks: int) -> None:
        """Allows more chunks, because the host took some; in the reading thread."""
        self._granted += chunks
        self.wakeup.notify()

    def available(self) -> bool:
        """Returns whether a chunk may be sent."""
        if self._taken < self._granted:
            return True
        if self._small_bytes == 0:
            return False
        self._forget_arrived()
        return self._out_bytes < self._small_bytes

    @property
    def sent(self) -> int:
        """How many chunks were sent."""
        return self._taken

    @property
    def arrived(self) -> int:
        """How many of them the host has reported as taken."""
        return self._granted - self._window

    def take(self, size: int) -> None:
        """Uses credit for a chunk of this size."""
        self._taken += 1
        if self._small_bytes > 0:
            counted = max(size, LEAST_COUNTED_BYTES)
            self._sizes.append(counted)
            self._out_bytes += counted
            if len(self._sizes) > self._window:
                self._forget_arrived()

    def _forget_arrived(self) -> None:
        out = self._taken - (self._granted - self._window)
        while len(self._sizes) > max(0, out):
            self._out_bytes -= self._sizes.popleft()
