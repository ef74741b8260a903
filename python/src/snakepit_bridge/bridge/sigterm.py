"""SIGTERM, noticed by the bridge's thread while the main thread is stuck."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable

__all__ = ["SigtermListener"]


class SigtermListener:
    """Calls back when the process is asked to end.

    A handler in Python runs in the main thread, and not before that runs Python
    again: a signal that comes just before a long `time.sleep`, or that the kernel
    gives to another thread, would wait for its end. So what counts is the byte
    that Python's own handler in C writes; the handler in Python is for the time
    when a tool has put another descriptor in the place of ours.
    """

    def __init__(self, notice: Callable[[], None]) -> None:
        """Listens; in the main thread.

        Args:
            notice: is called once or more, in the main thread or the loop's.
        """
        self._notice = notice
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        signal.signal(signal.SIGTERM, lambda _signal, _frame: notice())
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Has a loop read the bytes; in the loop's thread."""
        loop.add_reader(self._reader, self._read)

    def _read(self) -> None:
        try:
            if signal.SIGTERM in self._reader.recv(4096):
                self._notice()
        except BlockingIOError:
            pass
