"""Wakes a loop that waits for descriptors when a child ends."""

from __future__ import annotations

import os
import select
import signal


class Wakeup:
    """A pipe that is readable when a child has ended.

    Attributes:
        descriptor: To wait for together with others.
    """

    def __init__(self) -> None:
        """Begins to listen; a process can have only one of these."""
        self.descriptor, self._signalled = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(self._signalled, warn_on_full_buffer=False)
        # Without a handler the signal would be ignored.
        signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)

    def wait(self, seconds: float) -> None:
        """Returns once a child has ended since the last time, or after this time."""
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        # Rounded up: less than a millisecond would not wait at all.
        poll.poll(max(1, round(seconds * 1000)))
        self.clear()

    def clear(self) -> None:
        """Empties the pipe."""
        try:
            while os.read(self.descriptor, 512):
                pass
        except BlockingIOError:
            pass

    def close(self) -> None:
        """Stops listening; for a child that inherits this by a fork."""
        signal.set_wakeup_fd(-1)
        os.close(self.descriptor)
        os.close(self._signalled)
