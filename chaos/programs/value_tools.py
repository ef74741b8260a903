"""Tools that use large values in every way that a tool can, and look after them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
import zlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))

from snakepit_bridge import tool
from witness import hold

hold("worker")

Bytes = NDArray[np.uint8]

# Views that tools kept, each with what was in it then.
_kept: deque[tuple[Bytes, int]] = deque(maxlen=6)
# Of forks, which read an array.
_children: list[int] = []
# What changed while it was in use, each in a few words.
_changed: list[str] = []


@tool
def echo(value: bytes) -> bytes:
    return value


@tool
def echo_array(array: Bytes) -> Bytes:
    return array


@tool
def checksum(array: Bytes) -> int:
    return zlib.crc32(array)


@tool
def reverse(array: Bytes) -> Bytes:
    """Writes into its argument, which is its own."""
    array[:] = array[::-1].copy()
    return array


@tool
def keep(array: Bytes) -> int:
    """Keeps a part of the array when the call is over."""
    part = array[len(array) // 3 :]
    _kept.append((part, zlib.crc32(part)))
    return zlib.crc32(array)


@tool
def changed() -> list[str]:
    """Returns what did not stay as it was, each in a few words."""
    _collect_children()
    kept = list(_kept)
    return _changed + [
        "an array that a tool kept"
        for part, before in kept
        if zlib.crc32(part) != before
    ]


def _collect_children() -> None:
    for child in list(_children):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            _children.remove(child)
            if status != 0:
                _changed.append("an array that a fork reads")


@tool
def hold_both(value: bytes, array: Bytes, seconds: float) -> tuple[bytes, Bytes]:
    before = zlib.crc32(value), zlib.crc32(array)
    time.sleep(seconds)
    if (zlib.crc32(value), zlib.crc32(array)) != before:
        _changed.append("arguments of a call that runs")
    return value, array


@tool
async def await_both(value: bytes, array: Bytes, seconds: float) -> tuple[bytes, Bytes]:
    before = zlib.crc32(value), zlib.crc32(array)
    await asyncio.sleep(seconds)
    if (zlib.crc32(value), zlib.crc32(array)) != before:
        _changed.append("arguments of a coroutine that runs")
    return value, array


@tool
def leave_to_thread(array: Bytes, seconds: float) -> int:
    """Has a thread read the array when the call is over."""
    before = zlib.crc32(array)

    def read() -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if zlib.crc32(array) != before:
                _changed.append("an array that a thread reads")
                return
            time.sleep(0.01)

    threading.Thread(target=read, daemon=True).start()
    return before


@tool
def fork(array: Bytes, seconds: float) -> int:
    """Has a child of its own read the array when the call is over."""
    before = zlib.crc32(array)
    child = os.fork()
    if child == 0:
        time.sleep(seconds)
        os._exit(0 if zlib.crc32(array) == before else 1)
    _children.append(child)
    return before


@tool
def fail(array: Bytes) -> None:
    """Leaves the array in a traceback."""
    raise ValueError(f"failed on purpose with {len(array)} bytes")


@tool
def produce(items: int, size: int, first: int) -> Iterator[Bytes]:
    for number in range(items):
        yield np.full(size, (first + number) % 251, dtype=np.uint8)


@tool
def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
