"""Tools that would outlive their host if they could."""

import ctypes
import os
import subprocess
import sys
import time

from snakepit_bridge import tool


def begun() -> None:
    sys.stderr.write("begun\n")


@tool
def busy() -> None:
    begun()
    while True:
        pass


@tool
def holds_the_gil() -> None:
    begun()
    # PyDLL keeps the GIL while it calls: no other thread runs any Python.
    ctypes.PyDLL(None).sleep(600)


@tool
def has_children() -> None:
    # They keep the pipe by which the test sees them live.
    for _ in range(3):
        subprocess.Popen(["sleep", "600"], close_fds=False)
    begun()
    time.sleep(600)


@tool
def forks() -> None:
    if os.fork() == 0:
        begun()
    time.sleep(600)
