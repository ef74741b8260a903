"""Scheduling a callback on an event loop, from any thread."""

from __future__ import annotations

from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.threads.loop import Loop


__all__ = ["call_soon"]


def call_soon(loop: Loop, callback: Callable[[], object]) -> None:
    """Schedules a callback, from any thread; does nothing if the loop is closed."""
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:
        # Closed: the worker has left.
        pass
