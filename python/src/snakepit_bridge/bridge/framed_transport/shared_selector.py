"""A selector that shares one descriptor with another thread's."""

from __future__ import annotations

import os
import select
import selectors
from collections.abc import Callable

__all__ = ["CAN_SHARE", "SharedSelector"]

# Linux from 4.5 on.
CAN_SHARE = hasattr(select, "EPOLLEXCLUSIVE")


class SharedSelector(selectors.EpollSelector):
    """Also watches a descriptor that the selector of another thread watches.

    When it becomes readable the kernel wakes one thread only (`EPOLLEXCLUSIVE`):
    of those that wait, the one whose selector shared it first. So the second one
    sleeps for as long as the first is there to read, and is woken at once where
    it is not: the hand-over costs nothing where none is needed.

    What is not read stays readable for a selector that was told of it. One that
    was not, since the other was woken, learns of it with the next arrival only:
    who was woken reads everything.
    """

    def __init__(self) -> None:
        super().__init__()
        # The same epoll object, in a descriptor of our own.
        self._epoll = select.epoll.fromfd(os.dup(self.fileno()))
        self._shared = -1
        self._on_readable: Callable[[], None] = lambda: None

    def share(self, descriptor: int, on_readable: Callable[[], None]) -> None:
        """Watches it, in addition; from any thread."""
        self._on_readable = on_readable
        self._shared = descriptor
        self._epoll.register(descriptor, select.EPOLLIN | select.EPOLLEXCLUSIVE)

    def unshare(self) -> None:
        """Watches it no more."""
        if self._shared >= 0:
            self._epoll.unregister(self._shared)
            self._shared = -1

    def close(self) -> None:
        """Lets go of everything."""
        self._epoll.close()
        super().close()

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        """Waits; what became readable on the shared descriptor is told at once."""
        keys = self.get_map()
        if timeout is not None and timeout < 0:
            timeout = 0
        ready = []
        for descriptor, event in self._epoll.poll(timeout, len(keys) + 1):
            if descriptor == self._shared:
                self._on_readable()
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
        return ready

    def wait(self, timeout: float | None) -> bool:
        """Waits like `select`; returns False if the shared one alone was readable."""
        events = self._epoll.poll(timeout, 2)
        other = not events
        for descriptor, _ in events:
            if descriptor == self._shared:
                self._on_readable()
            else:
                other = True
        return other
