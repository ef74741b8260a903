"""A tool that notes each call as it begins, and does with it what the caller says."""

import ctypes
import os
import time

from snakepit_bridge import tool

_BEGAN = os.open(os.environ["BEGAN"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


@tool
def work(number: int, how: str = "quick", ms: int = 0) -> int:
    os.write(_BEGAN, b"%d\n" % number)
    end = time.monotonic() + ms / 1000
    if how == "sleep":
        time.sleep(ms / 1000)
    elif how == "busy":
        while time.monotonic() < end:
            pass
    elif how == "gil":
        # In C code, which holds the lock until it is done.
        sum(range(ms * 20_000))
    elif how == "gate":
        # In C code too, until somebody opens the other end of the pipe.
        ctypes.PyDLL(None).open(os.environ["GATE"].encode(), os.O_RDONLY)
    elif how == "die":
        os.kill(os.getpid(), 9)
    return number


@tool
async def work_async(number: int) -> int:
    os.write(_BEGAN, b"%d\n" % number)
    return number
