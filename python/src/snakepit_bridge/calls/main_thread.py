"""The main thread, where tools live: an event loop, and work outside of it.

Synchronous tools run between two turns of the loop and not in one: `asyncio.run`
inside of them works as in any script.
"""

from __future__ import annotations

import abc
import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

__all__ = ["MainThread"]

_logger = logging.getLogger(__name__)


class MainThread(abc.ABC):
    """Runs what other threads hand over, until it is stopped.

    Attributes:
        loop: the event loop of asynchronous tools and hooks.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """To be made in the main thread."""
        self.loop = loop
        asyncio.set_event_loop(loop)
        self._stopping = False

    def run(self) -> None:
        """Runs until `stop`; whatever user code does to the loop."""
        while not self._stopping:
            try:
                self._go_on()
            except (SystemExit, KeyboardInterrupt):
                # By the handler of a signal, wherever this thread was; calls take theirs.
                _logger.exception("a signal's handler tried to end the worker")
                self._recover()

    @abc.abstractmethod
    def _go_on(self) -> None:
        """Waits, and does what there is to do then."""

    @abc.abstractmethod
    def _recover(self) -> None:
        """Lets `_go_on` be called again after it was interrupted anywhere."""

    @abc.abstractmethod
    def submit(self, work: Callable[[], None]) -> None:
        """Has work done outside of the loop; from any thread."""

    @abc.abstractmethod
    def submit_to_loop(self, callback: Callable[[], None]) -> None:
        """Has a callback called by the loop; from any thread."""

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
