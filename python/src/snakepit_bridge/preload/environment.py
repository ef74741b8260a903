"""The environment of a forked worker, also as other processes see it.

`/proc/PID/environ` shows the memory in which the system put the environment when the
program was executed, and a forked process has its parent's. The descendants of a worker
are found by that file, so the memory is overwritten.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping

# The variables that others look for come first, in case there is no room for all.
_FIRST = (b"SNAKEPIT_RUN", b"SNAKEPIT_WORKER")
# Fields of /proc/self/stat, counted after the name of the program.
_ENV_START, _ENV_END = 47, 48


def take_environment(env: Mapping[bytes, bytes]) -> None:
    """Makes this the environment of this process, and shows it in /proc."""
    os.environb.clear()
    os.environb.update(env)
    try:
        _show(env)
    except (OSError, ValueError, IndexError):
        pass  # The run is the same, and the worker is found by its record.


def image(env: Mapping[bytes, bytes], room: int) -> bytes:
    """Returns an environment as it is in memory, cut or padded to the room there is."""
    names = [name for name in _FIRST if name in env]
    names += [name for name in env if name not in _FIRST]
    text = b""
    for name in names:
        entry = name + b"=" + env[name] + b"\0"
        if len(text) + len(entry) <= room:
            text += entry
    return text.ljust(room, b"\0")


def _show(env: Mapping[bytes, bytes]) -> None:
    with open("/proc/self/stat", "rb") as file:
        text = file.read()
    fields = text[text.rfind(b")") + 2 :].split()
    start, end = int(fields[_ENV_START]), int(fields[_ENV_END])
    # Nothing points into it any more, since every variable was just set again.
    if 0 < start < end:
        ctypes.memmove(start, image(env, end - start), end - start)
