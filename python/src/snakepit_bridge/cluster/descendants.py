"""All descendants of this process, even those that left their group and session.

A subreaper (Linux) becomes the parent of every descendant whose parent died: so none
can escape.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

PR_SET_CHILD_SUBREAPER = 36
# The kernel frees the memory of a killed process before the process becomes a zombie.
POLL_MS = 50


def become_subreaper() -> bool:
    """Adopts the orphans among the descendants from now on; returns whether it is so."""
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None)
    return bool(library.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def children_of(pid: int) -> list[int]:
    """Returns the direct children, zombies too; none for a process that is gone."""
    children: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                children += [int(word) for word in file.read().split()]
    except OSError:
        if not os.path.exists("/proc/self/task"):
            raise
    return children


def descendants_of(pid: int) -> list[int]:
    """Returns all descendants, parents before their children."""
    descendants = children_of(pid)
    for child in descendants:
        descendants += children_of(child)
    return descendants


def kill_descendants(collect: Callable[[], bool] | None = None) -> None:
    """Kills every descendant and returns when none is left.

    Args:
        collect: Waits for children that have ended, and returns whether one is left.
    """
    collect = collect or _collect
    while True:
        # All are stopped first: a process that forks all the time would be faster than
        # the killing.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in descendants_of(os.getpid()):
                _signal(pid, number)
        if not collect():
            return
        _wait_for_a_child()


def _collect() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _signal(pid: int, number: int) -> None:
    # A descendant may have been reaped meanwhile, and its pid may belong to another
    # process.
    with contextlib.suppress(OSError), _pidfd(pid) as descriptor:
        if _is_descendant(pid):
            signal.pidfd_send_signal(descriptor, number)


def _is_descendant(pid: int) -> bool:
    while pid > 1:
        pid = parent_of(pid)
        if pid == os.getpid():
            return True
    return False


def parent_of(pid: int) -> int:
    """Returns the parent's pid; raises `OSError` for a process that is gone."""
    return int(_state_of(pid)[1])


def _state_of(pid: int) -> list[bytes]:
    """Returns the fields of `/proc/PID/stat` that follow the name."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b") ")[2].split()


def _wait_for_a_child() -> None:
    poller = select.poll()
    with contextlib.ExitStack() as stack:
        for pid in children_of(os.getpid()):
            with contextlib.suppress(OSError):
                poller.register(stack.enter_context(_pidfd(pid)), select.POLLIN)
        poller.poll(POLL_MS)


@contextlib.contextmanager
def _pidfd(pid: int) -> Iterator[int]:
    descriptor = os.pidfd_open(pid)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


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


TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Usage(NamedTuple):
    """Processor time since the worker's start, and resident memory."""

    cpu_ms: int
    resident_bytes: int


def usage_of_descendants(ended_cpu_s: float) -> Usage:
    """Returns the sum over all descendants.

    Args:
        ended_cpu_s: Of those that ended, and were waited for by this process.
    """
    ticks = pages = 0
    for pid in descendants_of(os.getpid()):
        try:
            fields = _state_of(pid)
        except OSError:
            continue
        # utime, stime, and those of the children that it waited for.
        ticks += sum(map(int, fields[11:15]))
        pages += int(fields[21])
    return Usage(round(ticks * TICK_MS + ended_cpu_s * 1000), pages * PAGE_BYTES)
