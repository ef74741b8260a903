"""The environment of a forked worker: its own, also where others look.

`/proc/PID/environ` shows the memory in which the system put the environment when the
program was executed, and a fork shares that with its parent. Who looks for the
descendants of a worker reads it there, so it is written anew.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping

# What others look for comes first: if there is no room for all, there is for these.
_FIRST = (b"SNAKEPIT_RUN", b"SNAKEPIT_WORKER")
# Of /proc/self/stat, counted after the name of the program.
_ENV_START, _ENV_END = 47, 48


def take_environment(env: Mapping[bytes, bytes]) -> None:
    """Makes this the environment of this process, for itself and for who looks at it."""
    os.environb.clear()
    os.environb.update(env)
    try:
        _show(env)
    except (OSError, ValueError, IndexError):
        pass  # The run is the same, and the worker is known by its record.


def image(env: Mapping[bytes, bytes], room: int) -> bytes:
    """Returns an environment as it lies in memory, as far as there is room, filled up."""
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
    # Nothing points into it any more: every variable was just set anew.
    if 0 < start < end:
        ctypes.memmove(start, image(env, end - start), end - start)
