"""A bridge's thread with nothing but gRPC's loop to turn."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from typing import Any
from unittest.mock import Mock

from snakepit_bridge.bridge.grpc_transport.stepped_loop import SteppedLoop

DEADLINE_S = 20


class BridgeLoop:
    """Runs in a thread of its own, from the start.

    Attributes:
        stepped: the loop that it turns.
    """

    def __init__(self) -> None:
        self._loop = asyncio.SelectorEventLoop()
        self._wake = Mock(wraps=self._loop.call_soon_threadsafe)
        self._loop.call_soon_threadsafe = self._wake  # type: ignore[method-assign]
        self.stepped = SteppedLoop(self._loop, Mock(is_shared=False))
        self._thread = threading.Thread(target=self._run)
        self._tasks: list[asyncio.Task[Any]] = []
        self._thread.start()

    def close(self) -> None:
        """Ends the thread and both loops."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        for task in self._tasks:
            task.cancel()
        self.stepped.step()
        self.stepped.close()
        self._loop.close()

    @property
    def woken(self) -> int:
        """How often other threads have woken it."""
        return self._wake.call_count

    @property
    def ident(self) -> int | None:
        """The thread."""
        return self._thread.ident

    def begin(self, coroutine: Coroutine[Any, Any, object]) -> None:
        """Begins a task of the stepped loop, up to where it waits."""
        self.stepped.call_now(
            lambda: self._tasks.append(self.stepped.loop.create_task(coroutine))
        )

    def run(self, coroutine: Coroutine[Any, Any, object]) -> None:
        """Runs a coroutine on the stepped loop, in this thread."""
        over: list[asyncio.Task[object]] = []

        def begin() -> None:
            over.append(self.stepped.loop.create_task(coroutine))

        self.stepped.call_now(begin)
        assert over[0].done()
        over[0].result()

    @contextlib.contextmanager
    def held_up(self) -> Iterator[None]:
        """Keeps the bridge's thread from doing anything."""
        held, go_on = threading.Event(), threading.Event()

        def hold() -> None:
            held.set()
            go_on.wait(DEADLINE_S)

        self._loop.call_soon_threadsafe(hold)
        assert held.wait(DEADLINE_S)
        self._wake.reset_mock()
        try:
            yield
        finally:
            go_on.set()

    def _run(self) -> None:
        self.stepped.open()
        self._loop.run_forever()
