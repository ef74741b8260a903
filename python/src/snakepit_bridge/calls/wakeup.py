"""Waiting, in a thread or in a coroutine, for what the bridge's thread brings."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable

__all__ = ["Wakeup"]


class Wakeup:
    """Wakes the one that waits; works without locks.

    Whoever waits says first how to be woken and looks then, whoever wakes has
    changed first what is looked at: so none of the two can miss the other. A
    lock would be held when `CallCancelled` is raised.
    """

    __slots__ = ("_wake",)

    def __init__(self) -> None:
        self._wake: Callable[[], None] | None = None

    def notify(self) -> None:
        """Wakes; to be called in the bridge's thread, after the change."""
        wake, self._wake = self._wake, None
        if wake is not None:
            wake()

    def wait(self, ready: Callable[[], bool]) -> None:
        """Blocks this thread until `ready`."""
        token: queue.SimpleQueue[None] = queue.SimpleQueue()
        while not ready():
            self._wake = lambda: token.put(None)
            if ready():
                break
            # In C, called from here: a signal in between raises nothing.
            token.get()

    async def wait_async(self, ready: Callable[[], bool]) -> None:
        """Suspends this coroutine until `ready`."""
        loop = asyncio.get_running_loop()
        while not ready():
            future: asyncio.Future[None] = loop.create_future()
            self._wake = _resolver(loop, future)
            if ready():
                break
            await future

    def park(self, ready: Callable[[], bool], resume: Callable[[], None]) -> bool:
        """Has `resume` called, in the bridge's thread, when it may be `ready`.

        Returns:
            False if it is ready now; then `resume` may be called all the same.
        """
        self._wake = resume
        return not ready()


def _resolver(
    loop: asyncio.AbstractEventLoop, future: asyncio.Future[None]
) -> Callable[[], None]:
    def resolve() -> None:
        if not future.done():
            future.set_result(None)

    def wake() -> None:
        try:
            loop.call_soon_threadsafe(resolve)
        except RuntimeError:
            # The loop is closed: nobody waits any more.
            pass

    return wake
