"""A tool that notes each call as it begins, and ends or delays its worker at a given step.

A step before the tool's code is one of the *next* call: it waits in the worker meanwhile.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from snakepit_bridge import tool
from snakepit_bridge.calls.memory.call_page import CallPage
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
    """The words of a page. A worker stores the number of a call in one and looks at the
    other: the steps are before, between and after, in whichever order it does so."""

    def __init__(self, words: memoryview[int]) -> None:
        self._words = words
        self._first: str | None = None

    def __getitem__(self, at: int) -> int:
        with self._steps("look"):
            return self._words[at]

    def __setitem__(self, at: int, word: int) -> None:
        with self._steps("store"):
            self._words[at] = word

    @contextmanager
    def _steps(self, what: str) -> Iterator[None]:
        # A call that was cancelled meanwhile has one of the two only.
        if self._first in (None, what):
            self._first = what
            _arrive(_BEFORE_NUMBER)
            yield
        else:
            self._first = None
            _arrive(_BEFORE_LOOK)
            yield
            _arrive(_BEFORE_TOOL)


class _WordsOfPage:
    """In the place of the attribute, for pages that exist as for those to come."""

    def __get__(self, page: CallPage, _owner: type) -> _Words:
        words = page.__dict__["_words"]
        if not isinstance(words, _Words):
            words = page.__dict__["_words"] = _Words(words)
        return words

    def __set__(self, page: CallPage, words: memoryview[int]) -> None:
        page.__dict__["_words"] = words


CallPage._words = _WordsOfPage()


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
