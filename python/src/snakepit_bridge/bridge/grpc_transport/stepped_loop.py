"""An event loop without a thread of its own: whoever has time for it turns it.

gRPC's parts of a worker live on it. What they do is done in the main thread while
that has nothing else to do, so that a small call is handed to no other thread, and
in the bridge's while a tool runs.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from snakepit_bridge.bridge.call_soon import call_soon
from snakepit_bridge.bridge.shared_reading.shared_reading import SharedReading

__all__ = ["SteppedLoop"]

_Result = TypeVar("_Result")


def _nothing() -> None:
    """Has it turned once more."""


class _TurnSelector(selectors.DefaultSelector):
    """Lets the loop come back where it would wait.

    Attributes:
        on_idle: called there.
        idle_until: when the loop wants its next turn, on the monotonic clock;
            None where only an event wakes it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.on_idle: Callable[[], None] = lambda: None
        self.idle_until: float | None = None

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and (timeout is None or timeout > 0):
            self.idle_until = None if timeout is None else time.monotonic() + timeout
            self.on_idle()
        return ready


class SteppedLoop:
    """The loop, and who turns it: one thread at a time.

    Attributes:
        loop: the loop; nobody else runs it.
        turning: held by the thread that turns it.
        on_interrupted: called when the handler of a signal has raised in a turn: what
            that was about may be lost.
    """

    def __init__(
        self, bridge: asyncio.AbstractEventLoop, reading: SharedReading
    ) -> None:
        """`bridge` is the loop of the bridge's thread, which sees to its timers."""
        self._bridge = bridge
        self._reading = reading
        self._stop_sharing: Callable[[], None] | None = None
        self._shared: tuple[int, ...] = ()
        self._selector = _TurnSelector()
        self.loop = asyncio.SelectorEventLoop(self._selector)
        self._selector.on_idle = self._idle
        self.turning = threading.Lock()
        self.on_interrupted: Callable[[], None] = lambda: None
        self._calls: deque[Callable[[], object]] = deque()
        self._due: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    # ------------------------------------------------ in any thread

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Has the loop call back in its turn now, or in one of the bridge's thread,
        or of whoever is first."""
        if asyncio._get_running_loop() is self.loop:
            self.loop.call_soon(callback)
            # Where the handler of a signal calls, it may have stopped already.
            self._calls.append(_nothing)
        else:
            self._calls.append(callback)
            call_soon(self._bridge, self._turn_for_calls)

    async def run(self, coroutine: Coroutine[Any, Any, _Result]) -> _Result:
        """Runs a coroutine on the loop, and waits for it on another."""
        running = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        return await asyncio.wrap_future(running)

    # ------------------- in the main or the bridge's thread, outside of any task

    def call_now(self, callback: Callable[[], object]) -> None:
        """Has the loop call back in a turn of this thread; or of the one that turns
        it already, which goes on until nothing is left."""
        self._calls.append(callback)
        self._turn_for_calls()

    def turn(self) -> None:
        """Turns it until it would wait. Waits for another thread that turns it."""
        try:
            with self.turning:
                self._turn()
        except BaseException:
            self._leave_to_the_bridge()
            raise
        self._turn_for_calls()

    def _turn_for_calls(self) -> None:
        try:
            while self._calls:
                if self.turning.locked():
                    # Who turns it looks again when it is done.
                    return
                # Not by `acquire`: interrupted behind that, a thread would keep it.
                with self.turning:
                    self._turn()
        except BaseException:
            self._leave_to_the_bridge()
            raise

    def _leave_to_the_bridge(self) -> None:
        # By a signal's handler, in the main thread: nothing tells of what it left.
        if asyncio._get_running_loop() is not self._bridge:
            call_soon(self._bridge, self.turn)
            self.on_interrupted()

    def _turn(self) -> None:
        self._take_calls()
        # Its turn may be within another loop's: between two of that one's callbacks.
        outer = asyncio._get_running_loop()
        try:
            asyncio._set_running_loop(None)
            self.loop.run_forever()
        finally:
            asyncio._set_running_loop(outer)
        until, due = self._selector.idle_until, self._due
        if until is not None and (due is None or until < due):
            self._due = until
            call_soon(self._bridge, self._schedule)

    def _take_calls(self) -> None:
        while self._calls:
            self.loop.call_soon(self._calls.popleft())

    def _idle(self) -> None:
        if self._calls:
            self._take_calls()
        else:
            self.loop.stop()

    # ------------------------------------------------ in the bridge's thread

    def open(self) -> None:
        """Has this thread alone turn it."""
        self._bridge.add_reader(self._selector.fileno(), self.turn)

    def share(self) -> None:
        """Has the main thread turn it as well, if that is possible."""
        if self._reading.is_shared:
            self._bridge.remove_reader(self._selector.fileno())
            # Not the selector's own: the kernel shares no selector. And copies of what
            # is in it: where a tool uses gRPC itself, its loop watches gRPC's descriptor
            # in the same epoll object, which takes each number once.
            self._shared = tuple(
                os.dup(key.fd) for key in self._selector.get_map().values()
            )
            self._stop_sharing = self._reading.begin(
                self._bridge, self._shared, self.turn
            )

    def share_no_more(self) -> None:
        """Has this thread alone turn it again."""
        if self._stop_sharing is not None:
            self._stop_sharing()
            for descriptor in self._shared:
                os.close(descriptor)
            self.open()

    def close(self) -> None:
        """Lets go of everything."""
        self._bridge.remove_reader(self._selector.fileno())
        self.loop.close()

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due = self._due
        if due is not None:
            delay = max(0.0, due - time.monotonic())
            self._timer = self._bridge.call_later(delay, self._is_due)

    def _is_due(self) -> None:
        self._due = None
        self.turn()
