"""Tools that let a function of the host, an input and a module go, and say that they did."""

import asyncio
import importlib
import logging
import os
import sys
import time

from snakepit_bridge import current_call, progress, tool


@tool
async def impatient() -> None:
    """Asks the host, and stops waiting for its answer when the function runs."""
    call = current_call()
    asking = asyncio.ensure_future(call.host_async("wait"))
    await call.host_async("running")
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


@tool
async def hasty() -> None:
    """Asks the host, and ends while the function runs."""
    call = current_call()
    call.asking = asyncio.ensure_future(call.host_async("wait"))
    await call.host_async("running")


@tool(input=int)
def first() -> int:
    """Reads one item of its input, and reports it."""
    progress(0.5)
    return next(iter(current_call().input))


@tool
def log() -> None:
    """Logs a record."""
    logging.getLogger("tools").warning("logged")


@tool
def edit(directory: str) -> None:
    """Imports a module from elsewhere, which is saved after that."""
    sys.path.insert(0, directory)
    importlib.import_module("edited")
    now = time.time_ns()
    os.utime(os.path.join(directory, "edited.py"), ns=(now, now))
