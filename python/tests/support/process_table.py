"""Processes as /proc shows them."""

from __future__ import annotations

# Fields after the name, which may contain anything: state, parent, group, session, the
# number of threads (field 20 of all), and the start time (22), in clock ticks since the
# system was booted.
_STATE, _PARENT, _GROUP, _SESSION, _THREADS, _START = 0, 1, 2, 3, 17, 19


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
            fields[_STATE] in (b"Z", b"X", b"x") and int(fields[_THREADS]) <= 1,
        )
    except (IndexError, ValueError):
        return None
