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


class _Words:
    """The words of a page, with a step between the first and the second access of a begin, in
    whichever order they come."""

    def __init__(self, words: memoryview[int]) -> None:
        self._words = words
        self.accesses = 0

    def _access(self) -> memoryview[int]:
        self.accesses += 1
        if self.accesses == 2:
            _arrive(_BEFORE_LOOK)
        return self._words

    def __getitem__(self, at: int) -> int:
        return self._access()[at]

    def __setitem__(self, at: int, word: int) -> None:
        self._access()[at] = word


_begin = CallPage.begin


def _begin_in_steps(page: CallPage, number: int) -> bool:
    _arrive(_BEFORE_NUMBER)
    if not isinstance(page._words, _Words):
        page._words = _Words(page._words)
    page._words.accesses = 0
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
