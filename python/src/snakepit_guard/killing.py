"""Kills every descendant of this process, and looks again until none is left."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
from collections.abc import Callable

from snakepit_guard.kill_order import Step, kill_order
from snakepit_guard.process_table import children_of, descendants_of, look
from snakepit_guard.wakeup import Wakeup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from snakepit_guard.kill_order import Reach

    Outcome = Literal["sent", "gone", "refused"]
    Whom = Literal["all", "workers"]

_FIRST_PAUSE_S = 0.001
# Used while nothing new appears and what was killed is stuck in the kernel.
_LAST_PAUSE_S = 1.0
# PIDFD_SIGNAL_PROCESS_GROUP of linux/pidfd.h.
_PROCESS_GROUP = 1 << 2


def kill_until_none(
    wakeup: Wakeup,
    killed: Callable[[list[Step]], None],
    whom: Whom = "all",
) -> int:
    """Kills every descendant of this process, and reaps those that become its children.

    Returns only when the kernel reports that no child is left, however long a process
    that is stuck in the kernel takes, or when those that are left belong to another
    user and may not be signalled.

    Args:
        wakeup: Notified when children end.
        killed: Called with the processes that were sent SIGKILL, once for each.
        whom: With "workers" it spares guards and processes that have not left their
            session yet, and returns when nothing else lives.

    Returns:
        How many processes of another user are left: 0 unless a program changed users.
    """
    reported: set[tuple[int, int]] = set()
    pause = _FIRST_PAUSE_S
    while not _end_what_the_dead_led():
        steps = _steps(whom)
        if whom == "workers" and not steps:
            break
        outcomes = []
        fresh = []
        for step in steps:
            outcomes.append(_send(step))
            key = (step.process.pid, step.process.start)
            if outcomes[-1] == "sent" and key not in reported:
                reported.add(key)
                fresh.append(step)
        if fresh:
            killed(fresh)
        if outcomes and all(outcome == "refused" for outcome in outcomes):
            return len(outcomes)
        pause = _FIRST_PAUSE_S if fresh else min(2 * pause, _LAST_PAUSE_S)
        wakeup.wait(pause)
    return 0


def reap_all() -> bool:
    """Reaps every child that is dead; returns whether there is none left, dead or alive."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        return True
    return False


def kill_exactly(pid: int, start: int, reach: Reach = "process") -> Outcome:
    """Sends SIGKILL to a process that is not our child, but never to a later owner of its pid.

    Args:
        pid: Its pid.
        start: Its start time, which with the pid identifies it.
        reach: "group" to kill the group that it leads, if the kernel can signal a group
            by its leader's pidfd (Linux 6.9). Otherwise the members are found and killed
            one by one.
    """
    try:
        reference = os.pidfd_open(pid)
    except ProcessLookupError:
        return "gone"
    except (AttributeError, OSError):
        # An old kernel, or a system call filter: then a check right before is the best.
        return _attempt(lambda: os.kill(pid, signal.SIGKILL), pid, start)
    # The pidfd refers to one process for ever. If the start time matches now, it is ours.
    try:
        if reach == "group":
            _attempt(lambda: _send_to_group_of(reference), pid, start)
        return _attempt(
            lambda: signal.pidfd_send_signal(reference, signal.SIGKILL), pid, start
        )
    finally:
        os.close(reference)


def _send_to_group_of(leader: int) -> None:
    with contextlib.suppress(OSError):  # An old kernel does not know this flag.
        signal.pidfd_send_signal(leader, signal.SIGKILL, None, _PROCESS_GROUP)


def _end_what_the_dead_led() -> bool:
    """Kills the groups of children that are dead, then reaps them.

    A dead child cannot leave its group, and until it is reaped no other group can have
    its number: so everything in the group descends from this process.

    Returns:
        Whether there is no child left, dead or alive.
    """
    own = look(os.getpid())
    for pid in children_of(os.getpid()):
        child = look(pid)
        if own is None or child is None or not child.zombie:
            continue
        if child.session != own.session and child.group != own.group:
            _kill_group(child.group)
    return reap_all()


def _kill_group(group: int) -> Outcome:
    return _signal(lambda: os.killpg(group, signal.SIGKILL))


def _steps(whom: Whom) -> list[Step]:
    guard = look(os.getpid())
    if guard is None:
        raise OSError(errno.ENOENT, "/proc does not show this process")
    descendants = descendants_of(guard.pid)
    if whom == "all":
        return kill_order(descendants, guard)
    ours = frozenset(each.pid for each in descendants if each.session == guard.session)
    return kill_order(descendants, guard, ours)


def _send(step: Step) -> Outcome:
    process = step.process
    # A child of ours keeps its pid until we reap it, and we do not in between.
    ours = process.parent == os.getpid()
    if not ours:
        leads = process.group == process.pid and step.reach == "group"
        reach: Reach = "group" if leads else "process"
        return kill_exactly(process.pid, process.start, reach)
    if step.reach == "group" and process.group == process.pid:
        return _kill_group(process.pid)
    return _signal(lambda: os.kill(process.pid, signal.SIGKILL))


def _attempt(send: Callable[[], None], pid: int, start: int) -> Outcome:
    seen = look(pid)
    if seen is None or seen.start != start:
        return "gone"
    return _signal(send)


def _signal(send: Callable[[], None]) -> Outcome:
    try:
        send()
    except ProcessLookupError:
        return "gone"
    except PermissionError:
        return "refused"
    return "sent"
