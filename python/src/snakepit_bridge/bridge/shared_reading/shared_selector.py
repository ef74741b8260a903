"""A selector that shares descriptors with another thread's."""

from __future__ import annotations

import os
import select
import selectors
from collections.abc import Callable, Collection

__all__ = ["CAN_SHARE", "SharedSelector"]

# Linux from 4.5 on.
CAN_SHARE = hasattr(select, "EPOLLEXCLUSIVE")


class SharedSelector(selectors.EpollSelector):
    """Also watches descriptors that the selector of another thread watches.

    When one becomes readable the kernel wakes one thread only (`EPOLLEXCLUSIVE`):
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
        self._shared: frozenset[int] = frozenset()
        self._on_readable: Callable[[], None] = lambda: None

    def share(
        self, descriptors: Collection[int], on_readable: Callable[[], None]
    ) -> None:
        """Watches them, in addition; from any thread."""
        self._on_readable = on_readable
        self._shared = frozenset(descriptors)
        for descriptor in descriptors:
            self._epoll.register(descriptor, select.EPOLLIN | select.EPOLLEXCLUSIVE)

    def unshare(self) -> None:
        """Watches them no more."""
        for descriptor in self._shared:
            self._epoll.unregister(descriptor)
        self._shared = frozenset()

    def close(self) -> None:
        """Lets go of everything."""
        self._epoll.close()
        super().close()

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        """Waits; what became readable on a shared descriptor is told at once."""
        keys = self.get_map()
        if timeout is not None and timeout < 0:
            timeout = 0
        most = len(keys) + len(self._shared) + 1
        ready = []
        left_lying = False
        for descriptor, event in self._epoll.poll(timeout, most):
            if descriptor in self._shared:
                left_lying = True
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
        if left_lying:
            self._on_readable()
        return ready

    def wait(self, timeout: float | None) -> bool:
        """Waits like `select`; returns False if shared ones alone were readable."""
        events = self._epoll.poll(timeout, len(self._shared) + 1)
        other = not events
        left_lying = False
        for descriptor, _ in events:
            if descriptor in self._shared:
                left_lying = True
            else:
                other = True
        if left_lying:
            self._on_readable()
        return other
