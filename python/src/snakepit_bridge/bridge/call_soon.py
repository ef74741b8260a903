"""Having a loop call back, from any thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["call_soon"]


def call_soon(loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> None:
    """Has a loop call back, from any thread; one that is closed has no need to."""
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:
        # Closed: the worker has left.
        pass
