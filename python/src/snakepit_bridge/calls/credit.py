"""How many chunks of a stream the host still wants."""

from __future__ import annotations

from collections import deque

from snakepit_bridge.calls.wakeup import Wakeup

__all__ = ["LEAST_COUNTED_BYTES", "Credit"]

# What a chunk counts at least: an object costs more than its image.
LEAST_COUNTED_BYTES = 256


class Credit:
    """What the thread that reads adds to and the running tool takes from.

    Each side writes numbers of its own, so that neither needs a lock.
    """

    def __init__(self, chunks: int, small_bytes: int = 0) -> None:
        """Allows so many chunks.

        Args:
            chunks: how many may be out.
            small_bytes: more may be, while all that are out have fewer bytes
                together.
        """
        self.wakeup = Wakeup()
        self._granted = chunks
        self._taken = 0
        # Of the running tool alone: what the chunks count that are out, in order.
        self._window = chunks
        self._small_bytes = small_bytes
        self._sizes: deque[int] = deque()
        self._out_bytes = 0

    def grant(self, chunks: int) -> None:
        """Allows so many more: the host took them; in the thread that reads."""
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
        """How many of them the host has said that it took."""
        return self._granted - self._window

    def take(self, size: int) -> None:
        """Uses it up for a chunk of so many bytes."""
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
