"""Kills everything below this process, and looks again until nothing is left."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable

from snakepit_guard.kill_order import Step, kill_order
from snakepit_guard.process_table import descendants_of, look
from snakepit_guard.wakeup import Wakeup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Outcome = Literal["sent", "gone", "refused"]
    Whom = Literal["all", "workers"]

_FIRST_PAUSE_S = 0.001
# Nothing new appears, and what was killed does not die: it is stuck in the kernel.
_LAST_PAUSE_S = 1.0


def kill_until_none(
    wakeup: Wakeup,
    killed: Callable[[list[Step]], None],
    whom: Whom = "all",
) -> int:
    """Ends every descendant of this process, and reaps all that become its children.

    Returns only when the kernel says that there is no child any more, however long a
    process that is stuck in the kernel takes, or when those that are left belong to
    another user and may not be signalled.

    Args:
        wakeup: Tells of children that ended.
        killed: Called with the processes that were seen and sent their SIGKILL, each once.
        whom: Spares guards and what has not left their session yet where it is
            "workers", and returns when nothing else lives.

    Returns:
        How many are left, all of them another user's: 0 unless a program changed users.
    """
    told: set[tuple[int, int]] = set()
    pause = _FIRST_PAUSE_S
    while not reap_all():
        steps = _steps(whom)
        if whom == "workers" and not steps:
            break
        outcomes = []
        fresh = []
        for step in steps:
            outcomes.append(_send(step))
            key = (step.process.pid, step.process.start)
            if outcomes[-1] == "sent" and key not in told:
                told.add(key)
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


def kill_exactly(pid: int, start: int) -> Outcome:
    """Sends SIGKILL to a process that is not our child, and to no other that has its pid now."""
    try:
        reference = os.pidfd_open(pid)
    except ProcessLookupError:
        return "gone"
    except (AttributeError, OSError):
        # An old kernel, or a filter: looked at right before, there is no better.
        return _attempt(lambda: os.kill(pid, signal.SIGKILL), pid, start)
    try:
        return _attempt(
            lambda: signal.pidfd_send_signal(reference, signal.SIGKILL), pid, start
        )
    finally:
        os.close(reference)


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
    # A child of ours keeps its number until we reap it, and we do not in between.
    ours = process.parent == os.getpid()
    if step.reach == "group":
        if not ours:
            seen = look(process.pid)
            if (
                seen is None
                or seen.start != process.start
                or seen.group != process.group
            ):
                return "gone"
        return _signal(lambda: os.killpg(process.group, signal.SIGKILL))
    if ours:
        return _signal(lambda: os.kill(process.pid, signal.SIGKILL))
    return kill_exactly(process.pid, process.start)


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
