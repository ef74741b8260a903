"""Processes that are untied from their host, so that only a protection can end them."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from pathlib import Path

from snakepit_bridge import tool


def let_live() -> None:
    """The kernel ends a process over such a descriptor when its host is gone."""
    for name in os.listdir("/proc/self/fd"):
        try:
            flags = fcntl.fcntl(int(name), fcntl.F_GETFL)
            if flags & os.O_ASYNC:
                fcntl.fcntl(int(name), fcntl.F_SETFL, flags & ~os.O_ASYNC)
        except OSError:
            pass  # The descriptor of the listing itself.


# A preloaded parent, too, where it imports the tools.
let_live()


@tool
def untie(directory: str) -> None:
    """Writes down a child that shares nothing with the worker but its descent, and stops."""
    let_live()
    child = subprocess.Popen(["/bin/sleep", "600"], env={}, start_new_session=True)
    Path(directory, f"{os.getpid()}-{child.pid}").touch()
    os.kill(os.getpid(), signal.SIGSTOP)
