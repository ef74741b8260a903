"""Tools of a program that gets into trouble: each in the way that its name says."""

import ctypes
import os
import pathlib
import signal
import time

from snakepit_bridge import tool

# What a program reads when it starts: a volume that may not be mounted.
volume = os.environ.get("SNAKEPIT_TEST_VOLUME")
if volume is not None:
    pathlib.Path(volume).read_text()


@tool
def wait(seconds: float) -> float:
    """Sleeps."""
    time.sleep(seconds)
    return seconds


@tool
def hang(seconds: int) -> None:
    """Holds the GIL: nothing in this process runs, and it computes nothing."""
    ctypes.PyDLL(None).sleep(seconds)


@tool
def stop() -> None:
    """Stops itself, as a person or another program may."""
    os.kill(os.getpid(), signal.SIGSTOP)


@tool
def crash() -> None:
    """Ends as a bug in C does."""
    os.kill(os.getpid(), signal.SIGSEGV)
