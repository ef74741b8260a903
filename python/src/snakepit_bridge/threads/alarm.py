"""Wakes a thread that waits with a selector."""

from __future__ import annotations

import _socket as socket
import selectors

__all__ = ["Alarm"]


class Alarm:
    """Makes a selector return; from any thread, and from a signal handler."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        selector.register(self._reader, selectors.EVENT_READ)

    @property
    def descriptor(self) -> int:
        """The descriptor that is readable after `ring`."""
        return self._reader.fileno()

    def ring(self) -> None:
        """Wakes the thread; does nothing after `close`."""
        try:
            self._writer.send(b"\0")
        except OSError:
            # There are enough bytes already, or it is closed.
            pass

    def silence(self) -> None:
        """Takes back every ring so far; in the thread that waits."""
        try:
            self._reader.recv(4096)
        except BlockingIOError:
            pass

    def close(self) -> None:
        """Closes both ends; in the thread that waits."""
        self._selector.unregister(self._reader)
        self._reader.close()
        self._writer.close()
