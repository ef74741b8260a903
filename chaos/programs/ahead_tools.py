"""A tool that notes each call as it begins, and ends or delays its worker at a given step.

A step before the tool's code is one of the *next* call: it waits in the worker meanwhile.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from threading import Lock

sys.path.insert(0, str(Path(__file__).parent))

from snakepit_bridge import tool
from snakepit_bridge.calls.call_page import CallPage
from witness import hold

hold("worker")

_IN_TOOL = "in the tool"
_BEFORE_NUMBER = "before its number is stored"
_BEFORE_LOOK = "between the number and the look at what was taken back"
_BEFORE_TOOL = "before the tool"


def _journal(name: str) -> int:
    path = os.path.join(os.environ["CHAOS_STAGE"], name)
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


_began = _journal("began")
_struck = _journal("struck")
_next: tuple[str, str, float] | None = None


def _arrive(step: str) -> None:
    """Does what the last call asked for, if it asked for it at this step."""
    global _next
    if _next is None or _next[0] != step:
        return
    (_, how, ms), _next = _next, None
    os.write(_struck, f"{step}\n".encode())
    match how:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "hang":
            # C code that holds Python's lock.
            ctypes.PyDLL(None).usleep(int(ms * 1000))
        case "sleep":
            time.sleep(ms / 1000)
        case "compute":
            end = time.monotonic() + ms / 1000
            while time.monotonic() < end:
                pass


class _Fence:
    """Stands where the worker has stored the number and has not looked yet."""

    def __init__(self) -> None:
        self._lock = Lock()

    def __enter__(self) -> None:
        _arrive(_BEFORE_LOOK)
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


_begin = CallPage.begin


def _begin_in_steps(page: CallPage, number: int) -> bool:
    if not isinstance(page._fence, _Fence):
        page._fence = _Fence()
    _arrive(_BEFORE_NUMBER)
    begins = _begin(page, number)
    if begins:
        _arrive(_BEFORE_TOOL)
    return begins


CallPage.begin = _begin_in_steps


@tool
def work(number: int, step: str = "", how: str = "", ms: float = 0) -> int:
    global _next
    os.write(_began, b"%d\n" % number)
    if step:
        _next = (step, how, ms)
        _arrive(_IN_TOOL)
    return number


@tool
async def work_async(number: int) -> int:
    os.write(_began, b"%d\n" % number)
    return number
