"""Work that other threads hand to a loop that waits in a selector."""

from __future__ import annotations

import queue
import socket
from collections.abc import Callable
from typing import TypeVar

__all__ = ["Mailbox"]

_Result = TypeVar("_Result")


class Mailbox:
    """Functions that run in the loop's thread."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._readable, self.wakeup = socket.socketpair()
        self._readable.setblocking(False)
        self.wakeup.setblocking(False)

    def fileno(self) -> int:
        """For the selector."""
        return self._readable.fileno()

    def post(self, call: Callable[[], object]) -> None:
        """Runs it in the loop's thread; from any thread."""
        self._calls.put(call)
        try:
            self.wakeup.send(b"\0")
        except BlockingIOError:
            # It is awake already.
            pass

    def ask(self, call: Callable[[], _Result]) -> _Result:
        """Runs it in the loop's thread and returns its result."""
        answer: queue.SimpleQueue[_Result] = queue.SimpleQueue()
        self.post(lambda: answer.put(call()))
        return answer.get()

    def deliver(self) -> None:
        """Runs what has been posted; called in the loop's thread when this is readable."""
        try:
            while self._readable.recv(4096):
                pass
        except BlockingIOError:
            pass
        while not self._calls.empty():
            self._calls.get()()
