"""The descendants of a process, from /proc.

A process can end between two reads: one that is gone is left out.
"""

from __future__ import annotations

import os

# Fields after the name, which may contain anything: state, parent, group, session, and
# the start time (field 22 of all), in clock ticks since the system was booted.
_STATE, _PARENT, _GROUP, _SESSION, _START = 0, 1, 2, 3, 19


class Process:
    """One process as it was seen.

    Attributes:
        start: Clock ticks since boot; with the pid it identifies the process.
        zombie: It is dead and waits to be reaped.
    """

    __slots__ = ("group", "parent", "pid", "session", "start", "zombie")

    def __init__(
        self,
        pid: int,
        parent: int,
        group: int,
        session: int,
        start: int,
        zombie: bool = False,
    ) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.session = session
        self.start = start
        self.zombie = zombie


def look(pid: int) -> Process | None:
    """Returns one process, or `None` if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb", 0) as file:
            return parse_stat(pid, file.read())
    except OSError:
        return None


def parse_stat(pid: int, text: bytes) -> Process | None:
    """Parses `/proc/PID/stat`; `None` if it is cut or damaged."""
    fields = text[text.rfind(b")") + 2 :].split()
    try:
        return Process(
            pid,
            int(fields[_PARENT]),
            int(fields[_GROUP]),
            int(fields[_SESSION]),
            int(fields[_START]),
            fields[_STATE] in (b"Z", b"X", b"x"),
        )
    except (IndexError, ValueError):
        return None


def children_of(pid: int) -> list[int]:
    """Returns the pids of the children of a process, including zombies."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    children: list[int] = []
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb", 0) as file:
                children += map(int, file.read().split())
        except FileNotFoundError:
            if not _LISTS_CHILDREN:
                return _children_by_scan(pid)
        except OSError:
            pass
    return children


def descendants_of(pid: int) -> list[Process]:
    """Returns every descendant of a process, parents before their children."""
    found: list[Process] = []
    seen = {pid}
    waiting = [pid]
    for parent in waiting:
        for child in children_of(parent):
            if child in seen:
                continue
            seen.add(child)
            process = look(child)
            if process is not None:
                found.append(process)
                waiting.append(child)
    return found


def lists_children() -> bool:
    """Returns whether the kernel lists children; otherwise all of /proc is searched."""
    return os.path.exists(f"/proc/self/task/{os.getpid()}/children")


_LISTS_CHILDREN = lists_children()


def _children_by_scan(parent: int) -> list[int]:
    children = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            process = look(int(name))
            if process is not None and process.parent == parent:
                children.append(process.pid)
    return children
