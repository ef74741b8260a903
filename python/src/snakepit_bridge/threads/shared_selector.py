"""A selector that shares descriptors with the selector of another thread."""

from __future__ import annotations

import os
import select
import selectors
from collections.abc import Callable, Collection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from selectors import EpollSelector as _Selector
else:
    # Outside of Linux nothing is ever shared.
    _Selector = getattr(selectors, "EpollSelector", selectors.DefaultSelector)

__all__ = ["CAN_SHARE", "SharedSelector"]

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
