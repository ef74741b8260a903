"""Waiting, in a thread or in a coroutine, for what the thread that reads brings."""

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

    Several threads may wake at once. Each wait has a list of its own, with one way
    to be woken in it: whoever comes late empties one that nobody looks at any more.
    """

    __slots__ = ("_ways",)

    def __init__(self) -> None:
        self._ways: list[Callable[[], None]] = []

    def notify(self) -> None:
        """Wakes, after the change; from any thread."""
        try:
            wake = self._ways.pop()
        except IndexError:
            return
        wake()

    def wait(self, ready: Callable[[], bool]) -> None:
        """Blocks this thread until `ready`."""
        token: queue.SimpleQueue[None] = queue.SimpleQueue()
        while not ready():
            self._ways = [lambda: token.put(None)]
            if ready():
                break
            # In C, called from here: a signal in between raises nothing.
            token.get()

    async def wait_async(self, ready: Callable[[], bool]) -> None:
        """Suspends this coroutine until `ready`."""
        loop = asyncio.get_running_loop()
        while not ready():
            future: asyncio.Future[None] = loop.create_future()
            self._ways = [_resolver(loop, future)]
            if ready():
                break
            await future

    def park(self, ready: Callable[[], bool], resume: Callable[[], None]) -> bool:
        """Has `resume` called, by whoever wakes, when it may be `ready`.

        Returns:
            False if it is ready now; then `resume` may be called all the same.
        """
        self._ways = [resume]
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
