"""Tools that answer, fail, end or disturb their worker; each notes that it began."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import subprocess
import sys
import threading
import time

# A module's tools are all that it has, those of another module too.
from conversing import *
from note import note
from snakepit_bridge import CallCancelled, current_call, tool

_kept: list[bytes] = []


@tool
def answer(tag: str) -> str:
    note("B", tag)
    return tag


@tool
def sleep(tag: str, seconds: float) -> str:
    note("B", tag)
    time.sleep(seconds)
    return tag


@tool
def spin(tag: str, seconds: float) -> str:
    note("B", tag)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        current_call().raise_if_cancelled()
    return tag


@tool
async def sleep_async(tag: str, seconds: float) -> str:
    note("B", tag)
    await asyncio.sleep(seconds)
    return tag


@tool
def clean_up(tag: str, seconds: float) -> str:
    note("B", tag)
    try:
        time.sleep(seconds)
    finally:
        time.sleep(0.05)
        note("C", tag)
    return tag


@tool
async def clean_up_async(tag: str, seconds: float) -> str:
    note("B", tag)
    try:
        await asyncio.sleep(seconds)
    finally:
        await asyncio.sleep(0.05)
        note("C", tag)
    return tag


@tool
def cling(tag: str, seconds: float) -> str:
    """Ignores a cancel."""
    note("B", tag)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            time.sleep(0.01)
        except CallCancelled:
            continue
    return tag


@tool
def fail(tag: str) -> None:
    note("B", tag)
    raise ValueError(tag)


@tool
async def fail_async(tag: str) -> None:
    note("B", tag)
    await asyncio.sleep(0)
    raise ValueError(tag)


@tool
def leave(tag: str, code: int) -> None:
    note("B", tag)
    sys.exit(code)


@tool
async def leave_async(tag: str, code: int) -> None:
    note("B", tag)
    sys.exit(code)


@tool
def die(tag: str, number: int) -> None:
    note("B", tag)
    os.kill(os.getpid(), number)
    time.sleep(5)


@tool
def vanish(tag: str, code: int) -> None:
    note("B", tag)
    os._exit(code)


@tool
def spawn(tag: str) -> str:
    note("B", tag)
    subprocess.Popen(["sleep", "60"], start_new_session=len(tag) % 2 == 0)
    return tag


@tool
def fork(tag: str) -> str:
    note("B", tag)
    child = os.fork()
    if child == 0:
        return "of the child"
    os.waitpid(child, 0)
    return tag


@tool
def print_elsewhere(tag: str) -> str:
    note("B", tag)
    sys.stdout = io.StringIO()
    print("nobody sees this")
    return tag


@tool
def print_much(tag: str, lines: int) -> str:
    note("B", tag)
    for line in range(lines):
        print(f"{tag} {line}", file=sys.__stdout__ if line % 2 else sys.stderr)
    return tag


@tool
def log_much(tag: str, records: int) -> str:
    note("B", tag)
    logger = logging.getLogger("much")
    for record in range(records):
        logger.warning("%s %d %s", tag, record, "x" * 50)
    return tag


@tool
def grow(tag: str, megabytes: int) -> str:
    note("B", tag)
    _kept.append(b"\x01" * (megabytes << 20))
    return tag


@tool
async def block_the_loop(tag: str, seconds: float) -> str:
    note("B", tag)
    time.sleep(seconds)  # noqa: ASYNC251 - on purpose
    return tag


@tool
def no_value(tag: str) -> object:
    note("B", tag)
    return object()


@tool
def interrupt(tag: str) -> str:
    note("B", tag)
    os.kill(os.getpid(), 2)
    return tag


@tool
def leave_a_thread(tag: str, seconds: float) -> str:
    note("B", tag)
    threading.Thread(
        target=time.sleep, args=(seconds,), daemon=len(tag) % 2 == 0
    ).start()
    return tag
