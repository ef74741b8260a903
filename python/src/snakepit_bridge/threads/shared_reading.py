"""Decides which of the two threads reads the host's frames."""

from __future__ import annotations

from collections.abc import Callable, Collection

from snakepit_bridge.threads.gathering import LEAST_PATIENCE_S
from snakepit_bridge.threads.main_thread import MainThread
from snakepit_bridge.threads.shared_selector import CAN_SHARE, SharedSelector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.threads.loop import Loop

__all__ = ["SharedReading"]

# The main thread is checked less often while it makes progress under load.
MOST_PATIENCE_S = 0.004


class SharedReading:
    """The main thread reads while it waits; otherwise the bridge's thread does.

    The kernel wakes the bridge's thread when something arrives while the main thread is
    busy. Usually the main thread is about to read, and a hand-over would cost both
    threads more than that moment. So the bridge's thread checks a second time and reads
    only if the main thread is still busy with the same thing.

    Where the kernel cannot choose between two threads, the bridge's always reads.
    """

    def __init__(
        self, main: MainThread, make_loop: Callable[[SharedSelector], Loop]
    ) -> None:
        """`make_loop` returns a loop that waits with a selector."""
        self._main = main
        self._make_loop = make_loop
        self._selector = SharedSelector()
        self._loop: Loop | None = None
        self._descriptors: Collection[int] = ()
        self._read: Callable[[], None] = lambda: None
        self._patience = LEAST_PATIENCE_S
        self._stuck_at = -1

    def bridge_loop(self) -> Loop:
        """Returns the loop of the bridge's thread."""
        self._loop = self._make_loop(self._selector)
        return self._loop

    # ------------------------------------------------ in the bridge's thread

    def begin(self, descriptors: Collection[int], read: Callable[[], None]) -> None:
        """Calls `read`, in either thread, when one of these is readable.

        Args:
            descriptors: what becomes readable.
            read: reads everything there is.
        """
        self._descriptors = descriptors
        self._read = read
        if CAN_SHARE:
            # The order matters: the kernel wakes the thread that was first.
            self._main.selector.share(descriptors, read)
            self._selector.share(descriptors, self._unread)
        elif self._loop is not None:
            for descriptor in descriptors:
                self._loop.add_reader(descriptor, read)

    def end(self) -> None:
        """Reads no more."""
        descriptors, self._descriptors = self._descriptors, ()
        if CAN_SHARE:
            self._selector.unshare()
            self._main.selector.unshare()
        elif self._loop is not None:
            for descriptor in descriptors:
                self._loop.remove_reader(descriptor)

    def _unread(self) -> None:
        progress = self._main.gathering.progress
        if progress == self._stuck_at:
            self._read()
        elif self._loop is not None:
            self._selector.unshare()
            self._loop.call_later(self._patience, self._look_again, progress)

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
            self._selector.share(self._descriptors, self._unread)
