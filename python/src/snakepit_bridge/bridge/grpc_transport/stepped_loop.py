"""An event loop that no thread runs permanently: the free thread steps it.

gRPC's parts of a worker live on it. The main thread steps it while it has nothing else
to do, so that a small call is handed to no other thread; the bridge's thread steps it
while a tool runs.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from snakepit_bridge.threads.bridge_loop import call_soon
from snakepit_bridge.threads.shared_reading import CAN_SHARE, SharedReading

if TYPE_CHECKING:
    from snakepit_bridge.threads.bridge_loop import Loop, Timer

_Result = TypeVar("_Result")


def _nothing() -> None:
    """Causes one more step."""


class _StepSelector(selectors.DefaultSelector):
    """Ends the step when the loop would wait."""

    def __init__(self, stepped: SteppedLoop) -> None:
        super().__init__()
        self._stepped = stepped

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and (timeout is None or timeout > 0):
            self._stepped._would_wait(timeout)
        return ready


class SteppedLoop:
    """The loop and its steps: one thread at a time runs it until it would wait.

    Attributes:
        loop: the loop; nothing else runs it.
        stepping: held by the thread that steps it.
        on_interrupted: called when a signal handler raised within a step, so that work
            of that step may be lost.
    """

    def __init__(self, bridge: Loop, reading: SharedReading) -> None:
        """`bridge` is the loop of the bridge's thread, which runs its timers."""
        self._bridge = bridge
        self._reading = reading
        self._shared: tuple[int, ...] = ()
        self._selector = _StepSelector(self)
        self.loop = asyncio.SelectorEventLoop(self._selector)
        self.stepping = threading.Lock()
        self.on_interrupted: Callable[[], None] = lambda: None
        self._calls: deque[Callable[[], object]] = deque()
        # When the loop needs its next step, on the monotonic clock; None if only an
        # event wakes it.
        self._idle_until: float | None = None
        self._due: float | None = None
        self._timer: Timer | None = None

    # ------------------------------------------------ in any thread

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Schedules a callback for the current step, or for the next one of any
        thread; the bridge's thread makes one."""
        if asyncio._get_running_loop() is self.loop:
            self.loop.call_soon(callback)
            # A signal handler may call this after the loop's last check.
            self._calls.append(_nothing)
        else:
            self._calls.append(callback)
            call_soon(self._bridge, self._step_for_calls)

    async def run(self, coroutine: Coroutine[Any, Any, _Result]) -> _Result:
        """Runs a coroutine on this loop; awaited on another one."""
        running = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        return await asyncio.wrap_future(running)

    # ------------------- in the main or the bridge's thread, outside of any task

    def call_now(self, callback: Callable[[], object]) -> None:
        """Runs a callback in a step of this thread, or of the thread that is already
        stepping, which continues until no callback is left.
        """
        self._calls.append(callback)
        self._step_for_calls()

    def step(self) -> None:
        """Runs the loop until it would wait. Waits for another thread that steps it."""
        try:
            with self.stepping:
                self._step()
        except BaseException:
            self._leave_to_the_bridge()
            raise
        self._step_for_calls()

    def _step_for_calls(self) -> None:
        try:
            while self._calls:
                if self.stepping.locked():
                    # The stepping thread checks again when it has finished.
                    return
                # Not `acquire`: a thread interrupted right after it would keep the lock.
                with self.stepping:
                    self._step()
        except BaseException:
            self._leave_to_the_bridge()
            raise

    def _leave_to_the_bridge(self) -> None:
        # A signal handler raised in the main thread: nothing reports what it left.
        if asyncio._get_running_loop() is not self._bridge:
            call_soon(self._bridge, self.step)
            self.on_interrupted()

    def _step(self) -> None:
        # A step may be within another loop's run: between two of its callbacks.
        outer = asyncio._get_running_loop()
        try:
            # The same as in the loop, which would need one more turn for them.
            asyncio._set_running_loop(self.loop)
            self._take_calls()
            asyncio._set_running_loop(None)
            self.loop.run_forever()
        finally:
            asyncio._set_running_loop(outer)
        until, due = self._idle_until, self._due
        if until is not None and (due is None or until < due):
            self._due = until
            call_soon(self._bridge, self._schedule)

    def _would_wait(self, timeout: float | None) -> None:
        self._idle_until = None if timeout is None else time.monotonic() + timeout
        if self._calls:
            self._take_calls()
        else:
            # A call that is added from here on waits for the next step: what it
            # schedules would stay in a loop that stops.
            self.loop.stop()

    def _take_calls(self) -> None:
        while self._calls:
            self._calls.popleft()()

    # ------------------------------------------------ in the bridge's thread

    def open(self) -> None:
        """Makes the bridge's thread step it."""
        self._bridge.add_reader(self._selector.fileno(), self.step)

    def share(self) -> None:
        """Makes the main thread step it as well, if the kernel can choose the
        thread.
        """
        if CAN_SHARE:
            self._bridge.remove_reader(self._selector.fileno())
            # Not the selector itself: the kernel shares no epoll object. And copies of
            # the descriptors in it: where a tool uses gRPC itself, its loop watches gRPC's
            # descriptor in the same epoll object, which takes each number once.
            self._shared = tuple(
                os.dup(key.fd) for key in self._selector.get_map().values()
            )
            self._reading.begin(self._shared, self.step)

    def unshare(self) -> None:
        """Makes only the bridge's thread step it again."""
        if self._shared:
            self._reading.end()
            for descriptor in self._shared:
                os.close(descriptor)
            self.open()

    def close(self) -> None:
        """Closes the loop."""
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
        self.step()
