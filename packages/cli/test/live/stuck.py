"""Tools that are busy until the test lets them go on."""

import asyncio
import ctypes
import os
import time
from pathlib import Path

from snakepit_bridge import tool

# Set by the test that wants an import which does not end.
if fifo := os.environ.get("STUCK_IMPORT"):
    with open(fifo, "rb") as reader:
        reader.read()


@tool
def spins(until: str) -> str:
    """Computes in Python until a file exists."""
    while not Path(until).exists():
        sum(range(1_000))
    return "spun"


@tool
def waits(fifo: str) -> int:
    """Waits in the kernel, without Python's lock."""
    with open(fifo, "rb") as reader:
        return len(reader.read())


@tool
async def awaits(until: str) -> str:
    """Waits in the event loop until a file exists."""
    while not Path(until).exists():
        await asyncio.sleep(0.05)
    return "awaited"


@tool
def holds_the_lock(fifo: str) -> int:
    """Waits in the kernel with Python's lock: nothing else in this process runs."""
    descriptor = os.open(fifo, os.O_RDONLY)
    return ctypes.PyDLL(None).read(descriptor, ctypes.create_string_buffer(8), 8)


@tool
def echo(text: str) -> str:
    """Returns it."""
    time.sleep(0)
    return text
