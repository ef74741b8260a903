"""Waiting, in a thread or in a coroutine, for something that another thread does."""

from __future__ import annotations

# The class behind `queue`'s, which imports more than this module needs.
from _queue import SimpleQueue
from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio

__all__ = ["Wakeup"]


class Wakeup:
    """Wakes the one thread or coroutine that waits; works without locks.

    The side that waits first sets how to be woken, then checks the condition. The side
    that wakes first changes the condition, then notifies. So neither can miss the
    other. A lock could be held when `CallCancelled` is raised.

    Several threads may notify at once. Each wait has a list of its own with one
    callback in it: a late notification empties a list that is no longer used.
    """

    __slots__ = ("_ways",)

    def __init__(self) -> None:
        self._ways: list[Callable[[], None]] = []

    def notify(self) -> None:
        """Wakes the waiting side after the condition was changed; from any thread."""
        try:
            wake = self._ways.pop()
        except IndexError:
            return
        wake()

    def wait(self, ready: Callable[[], bool]) -> None:
        """Blocks this thread until `ready`."""
        token: SimpleQueue[None] = SimpleQueue()
        while not ready():
            self._ways = [lambda: token.put(None)]
            if ready():
                break
            # This waits in C and is called from here, so a signal meanwhile raises
            # nothing.
            token.get()

    async def wait_async(self, ready: Callable[[], bool]) -> None:
        """Suspends this coroutine until `ready`."""
        # Loaded already: this is a coroutine.
        import asyncio

        loop = asyncio.get_running_loop()
        while not ready():
            future: asyncio.Future[None] = loop.create_future()
            self._ways = [_resolver(loop, future)]
            if ready():
                break
            await future

    def park(self, ready: Callable[[], bool], resume: Callable[[], None]) -> bool:
        """Makes `notify` call `resume` once.

        Returns:
            False if it is ready now; `resume` may be called nevertheless.
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
            # The loop is closed: nothing is waiting.
            pass

    return wake
