"""The main thread, where tools live: an event loop, and work outside of it.

Synchronous tools run between two turns of the loop and not in one: `asyncio.run`
inside of them works as in any script.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

__all__ = ["MainThread"]

_logger = logging.getLogger(__name__)


class MainThread:
    """Runs what other threads hand over, until it is stopped.

    Attributes:
        loop: the event loop of asynchronous tools and hooks.
    """

    def __init__(self) -> None:
        self.loop = self._new_loop()
        asyncio.set_event_loop(self.loop)
        self._work: deque[Callable[[], None]] = deque()
        self._for_loop: deque[Callable[[], None]] = deque()
        self._is_stopping_turn = False
        self._is_calling = False
        self._stopping = False

    def _new_loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.new_event_loop()

    def run(self) -> None:
        """Runs until `stop`; whatever user code does to the loop."""
        while not self._stopping:
            # In this order: work that comes from here on stops the loop again. What
            # came before may have stopped a hook's.
            self._is_stopping_turn = False
            if not self._work:
                self._turn_loop()
            while self._work and not self._stopping:
                self._work.popleft()()

    def _turn_loop(self) -> None:
        try:
            self.loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            _logger.exception("a task or callback tried to end the worker")

    def submit(self, work: Callable[[], None]) -> None:
        """Has work done outside of the loop; from any thread."""
        self._work.append(work)
        # Once for all that comes before it does: each costs a system call.
        if not self._is_stopping_turn:
            self._is_stopping_turn = True
            self.loop.call_soon_threadsafe(self.loop.stop)

    def submit_to_loop(self, callback: Callable[[], None]) -> None:
        """Has a callback called by the loop; from any thread."""
        self._for_loop.append(callback)
        if not self._is_calling:
            self._is_calling = True
            self.loop.call_soon_threadsafe(self._call_in_loop)

    def _call_in_loop(self) -> None:
        self._is_calling = False
        while self._for_loop:
            self.loop.call_soon(self._for_loop.popleft())

    def stop(self) -> None:
        """Lets `run` return; from any thread."""
        self._stopping = True
        self.loop.call_soon_threadsafe(self.loop.stop)

    def complete(self, made: Any) -> None:
        """Awaits what a hook returned, if that can be awaited."""
        if not isinstance(made, Awaitable):
            return
        task = self.loop.create_task(_awaited(made))
        task.add_done_callback(lambda _: self.loop.stop())
        # Not run_until_complete: a stop that was meant for `run` may still come.
        while not task.done():
            self.loop.run_forever()
        task.result()

    def close(self) -> None:
        """Cancels what is left on the loop and closes it."""
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.complete(asyncio.gather(*tasks, return_exceptions=True))
        self.complete(self.loop.shutdown_asyncgens())
        self.loop.close()


async def _awaited(made: Awaitable[object]) -> None:
    await made
