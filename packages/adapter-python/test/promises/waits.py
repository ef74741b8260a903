"""Every way of waiting that a cancel has to end."""

import asyncio
import contextlib
import ctypes
import os
import socket
import subprocess
import sys
import threading
import time

from snakepit_bridge import current_call, tool


def begun(name: str) -> None:
    # As one: of what threads print at once the lines would be mixed.
    os.write(1, f"begun {name}\n".encode())


@tool
def pid() -> int:
    return os.getpid()


@tool
def sleep() -> None:
    begun("sleep")
    time.sleep(60)


@tool
def busy_loop() -> None:
    begun("busy_loop")
    while True:
        pass


@tool
def lock() -> None:
    held = threading.Lock()
    held.acquire()
    begun("lock")
    held.acquire()


@tool
def socket_read() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        begun("socket_read")
        ours.recv(1)


@tool
def child_process() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"]
    ) as child:
        begun("child_process")
        try:
            child.wait()
        finally:
            child.kill()


@tool
async def async_sleep() -> None:
    begun("async_sleep")
    await asyncio.sleep(60)


@tool
async def block_the_loop() -> None:
    begun("block_the_loop")
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with contextlib.suppress(BaseException):
            time.sleep(0.01)  # noqa: ASYNC251 - it heeds no cancel


@tool(input=int)
async def collect() -> list[int]:
    return [number async for number in current_call().input]


@tool
def between_items() -> int:
    def items():
        begun("between_items")
        time.sleep(60)
        yield 1

    return sum(items())


# The start is reported from within C, so that a cancel after it arrives there.
@tool
def hold_the_gil() -> None:
    ctypes.PyDLL(None).system(b"echo begun hold_the_gil; exec sleep 60")


@tool
def stay_in_c() -> None:
    ctypes.CDLL(None).system(b"echo begun stay_in_c; exec sleep 60")


released = threading.Event()


@tool
def hold() -> int:
    begun("hold")
    released.wait()
    return os.getpid()


@tool
def release() -> int:
    released.set()
    return os.getpid()


STUCK = threading.Lock()


@tool
def leaves_a_lock_held() -> int:
    STUCK.acquire()
    return os.getpid()


@tool
def needs_the_lock() -> int:
    with STUCK:
        return os.getpid()
