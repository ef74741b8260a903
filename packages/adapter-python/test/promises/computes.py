"""Tools that answer no ping while they work: each holds Python's lock in C."""

import collections
import ctypes
import functools
import mmap
import operator
import os
import signal
import threading
import time

from snakepit_bridge import tool


@tool
def up() -> int:
    return os.getpid()


@tool
def compute(until: str) -> int:
    """Until the first byte of a file is 1. All of the loop is in C."""
    with open(until, "rb") as file:
        shared = mmap.mmap(file.fileno(), 1, access=mmap.ACCESS_READ)
    first_byte = functools.partial(operator.getitem, shared, 0)
    collections.deque(iter(first_byte, 1), maxlen=0)
    return shared[0]


@tool
def wait_for_child_that_computes(until: str) -> int:
    """Until the first byte of a file is no 0."""
    loop = f'while ! read -r line < "{until}" || [ -z "$line" ]; do :; done'
    return ctypes.PyDLL(None).system(loop.encode())


def sleep_with_lock() -> None:
    # Not sleep() of C: the signal that asks for stacks would end it.
    ctypes.PyDLL(None).system(b"exec sleep 600")


@tool
def do_nothing() -> None:
    sleep_with_lock()


@tool
def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


@tool
def do_nothing_while_others_wait(others: int) -> None:
    for _ in range(others):
        threading.Thread(target=time.sleep, args=(0.2,), daemon=True).start()
    sleep_with_lock()
