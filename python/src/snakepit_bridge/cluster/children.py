"""The ends of child processes, both started and adopted ones."""

from __future__ import annotations

import os
import signal

__all__ = ["Children"]


class Children:
    """Waits for every child that ends, in a loop that `wakeup` wakes.

    Attributes:
        cpu_s: Processor time of those that ended, and of theirs.
        statuses: Exit statuses by pid, -n for signal n.
    """

    def __init__(self, wakeup: int) -> None:
        """Makes the end of a child write to this descriptor; in the main thread only."""
        self.cpu_s = 0.0
        self.statuses: dict[int, int] = {}
        signal.signal(signal.SIGCHLD, _nothing)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)

    def collect(self) -> bool:
        """Waits for those that have ended; returns whether one is left."""
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self.cpu_s += used.ru_utime + used.ru_stime
            self.statuses[pid] = os.waitstatus_to_exitcode(status)


def _nothing(_signal: int, _frame: object) -> None:
    """Does nothing: the wakeup descriptor wakes the loop."""
