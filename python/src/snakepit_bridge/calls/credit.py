"""How many chunks of a stream the host still wants."""

from __future__ import annotations

from snakepit_bridge.calls.wakeup import Wakeup

__all__ = ["Credit"]


class Credit:
    """A count that the bridge's thread adds to and the running tool takes from.

    Each side writes a number of its own, so that neither needs a lock.
    """

    def __init__(self, chunks: int) -> None:
        self.wakeup = Wakeup()
        self._granted = chunks
        self._taken = 0

    def grant(self, chunks: int) -> None:
        """Allows so many more; in the bridge's thread."""
        self._granted += chunks
        self.wakeup.notify()

    def available(self) -> bool:
        """Returns whether a chunk may be sent."""
        return self._taken < self._granted

    def take(self) -> None:
        """Uses up one."""
        self._taken += 1
