"""Decides which of two threads reads the host's frames, which both of their selectors watch."""

from __future__ import annotations

import os
import select
import selectors
from collections.abc import Callable, Collection

from snakepit_bridge.threads.write_coalescer import SHORTEST_WAIT_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from selectors import EpollSelector as _Selector

    from snakepit_bridge.threads.bridge_loop import Loop
    from snakepit_bridge.threads.main_thread import MainThread
else:
    # Outside of Linux nothing is ever shared.
    _Selector = getattr(selectors, "EpollSelector", selectors.DefaultSelector)


CAN_SHARE = hasattr(select, "epoll")
# Linux 4.5 or newer; older C libraries do not name it. An older kernel ignores it and
# wakes both threads.
EXCLUSIVE = getattr(select, "EPOLLEXCLUSIVE", 1 << 28)


class SharedSelector(_Selector):
    """Also watches descriptors that the selector of another thread watches.

    When one becomes readable the kernel wakes only one of the threads that wait
    (`EPOLLEXCLUSIVE`): the one whose selector shared it first. So the second thread
    sleeps while the first one is waiting, and is woken at once while it is not. A
    hand-over that is not needed costs nothing.

    Data that is not read is reported again to the thread that was woken, and to the
    other one only when more data arrives: the thread that was woken must read
    everything.
    """

    def __init__(self) -> None:
        super().__init__()
        self._shared: frozenset[int] = frozenset()
        self._on_readable: Callable[[], None] = lambda: None
        if CAN_SHARE:
            # The same epoll object, through an own descriptor.
            self._epoll = select.epoll.fromfd(os.dup(self.fileno()))

    def share(
        self, descriptors: Collection[int], on_readable: Callable[[], None]
    ) -> None:
        """Watches these descriptors as well; from any thread, where `CAN_SHARE`."""
        self._on_readable = on_readable
        self._shared = frozenset(descriptors)
        for descriptor in descriptors:
            self._epoll.register(descriptor, select.EPOLLIN | EXCLUSIVE)

    def unshare(self) -> None:
        """Stops watching them."""
        for descriptor in self._shared:
            self._epoll.unregister(descriptor)
        self._shared = frozenset()

    def close(self) -> None:
        """Closes the epoll object."""
        if CAN_SHARE:
            self._epoll.close()
        super().close()

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        """Waits; calls `on_readable` where a shared descriptor is readable."""
        if not self._shared:
            return super().select(timeout)
        keys = self.get_map()
        if timeout is not None and timeout < 0:
            timeout = 0
        most = len(keys) + len(self._shared) + 1
        ready = []
        is_shared_ready = False
        for descriptor, event in self._epoll.poll(timeout, most):
            if descriptor in self._shared:
                is_shared_ready = True
            elif descriptor in keys:
                key = keys[descriptor]
                happened = 0
                if event & ~select.EPOLLIN:
                    happened |= selectors.EVENT_WRITE
                if event & ~select.EPOLLOUT:
                    happened |= selectors.EVENT_READ
                happened &= key.events
                if happened:
                    ready.append((key, happened))
        if is_shared_ready:
            self._on_readable()
        return ready

    def wait(self, timeout: float | None) -> bool:
        """Waits as `select` does; returns False if only shared ones were readable."""
        if not self._shared:
            super().select(timeout)
            return True
        shared = self._shared
        events = self._epoll.poll(timeout, len(shared) + 1)
        if len(events) == 1 and events[0][0] in shared:
            # As almost always.
            self._on_readable()
            return False
        ready = [descriptor for descriptor, _ in events if descriptor in shared]
        if ready:
            self._on_readable()
        return not events or len(ready) < len(events)


# The main thread is checked less often while it makes progress under load.
LONGEST_WAIT_S = 0.004


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
        self._wait_s = SHORTEST_WAIT_S
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
        progress = self._main.coalescer.progress
        if progress == self._stuck_at:
            self._read()
        elif self._loop is not None:
            self._selector.unshare()
            self._loop.call_later(self._wait_s, self._look_again, progress)

    def _look_again(self, progress: int) -> None:
        if not self._descriptors:
            return
        if self._main.coalescer.progress == progress:
            self._stuck_at = progress
            self._wait_s = SHORTEST_WAIT_S
            self._read()
        else:
            self._wait_s = min(2 * self._wait_s, LONGEST_WAIT_S)
        if self._descriptors:
            self._selector.share(self._descriptors, self._unread)
