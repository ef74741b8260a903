"""Waits in a coroutine for an action of any thread."""

from __future__ import annotations

from collections.abc import Callable

from snakepit_bridge.threads.call_soon import call_soon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.threads.loop import Loop, Waited

__all__ = ["Notice"]


class Notice:
    """Lets one coroutine of a loop wait until a condition is true."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._waited: Waited | None = None

    def notify(self) -> None:
        """Makes the coroutine check again; from any thread, after the change."""
        call_soon(self._loop, self._wake)

    async def wait(
        self, ready: Callable[[], bool], timeout: float | None = None
    ) -> bool:
        """Waits until `ready`, at most so many seconds; returns whether it is."""
        loop = self._loop
        deadline = None if timeout is None else loop.time() + timeout
        while not ready():
            timer = None
            if deadline is not None:
                if loop.time() >= deadline:
                    return False
                timer = loop.call_at(deadline, self._wake)
            self._waited = loop.create_future()
            await self._waited
            if timer is not None:
                timer.cancel()
        return True

    def _wake(self) -> None:
        waited = self._waited
        if waited is not None and not waited.done():
            waited.set_result(None)
