"""A main thread that waits for other threads to hand something over.

Where nothing is on its loop it waits at a queue: a thread is woken there in half
the time that a loop takes, which has to be left for every call.
"""

from __future__ import annotations

import logging
import queue
import selectors
from collections import deque
from collections.abc import Callable
from typing import Any

from snakepit_bridge.calls.gathering import Gathering
from snakepit_bridge.calls.main_thread import MainThread
from snakepit_bridge.calls.tool_loop import ToolLoop

__all__ = ["WaitingMainThread"]

_logger = logging.getLogger(__name__)


class _IdleSelector(selectors.DefaultSelector):
    """Tells where its loop would wait for other threads only.

    Attributes:
        on_idle: called there instead of waiting; None while the loop has to wait.
        on_register: called when there is one more descriptor to wait for.
        gathering: told of each turn, while the main thread turns the loop; None
            while something else does, a hook.
    """

    def __init__(self) -> None:
        super().__init__()
        self.on_idle: Callable[[], None] | None = None
        self.on_register: Callable[[], None] = lambda: None
        self.gathering: Gathering | None = None

    def register(
        self, fileobj: Any, events: int, data: Any = None
    ) -> selectors.SelectorKey:
        key = super().register(fileobj, events, data)
        self.on_register()
        return key

    def select(self, timeout: float | None = None) -> list[tuple[Any, int]]:
        gathering = self.gathering
        if gathering is not None:
            gathering.release()
        # The one descriptor is what other threads wake the loop with.
        if timeout is None and self.on_idle is not None and len(self.get_map()) == 1:
            self.on_idle()
            return []
        ready = super().select(timeout)
        if gathering is not None:
            # After the wait: during it somebody else looks whether this thread gets on.
            gathering.next_turn()
        return ready


class WaitingMainThread(MainThread):
    """A `MainThread` for a bridge whose thread alone speaks with the host.

    Attributes:
        gathering: what holds the frames of one turn together.
    """

    def __init__(self) -> None:
        """To be made in the main thread."""
        self.gathering = Gathering()
        self._selector = _IdleSelector()
        self._tool_loop = ToolLoop(self._selector)
        super().__init__(self._tool_loop)
        self._tool_loop.on_thread_call = self._loop_called
        self._selector.on_register = self._want_turn
        self._work: deque[Callable[[], None]] = deque()
        self._for_loop: deque[Callable[[], None]] = deque()
        self._wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._is_woken = False
        self._is_turning = False
        self._is_idle = False
        self._is_calling = False

    def _go_on(self) -> None:
        self._wait()
        while self._work and not self._stopping:
            self._work.popleft()()
        self._turn()

    def _recover(self) -> None:
        self.gathering.release()
        self._is_turning = False
        self._tool_loop.wants_turn = True
        # Where it was interrupted before it told, nobody would have it called again.
        self._call_in_loop()

    def submit(self, work: Callable[[], None]) -> None:
        """Has work done outside of the loop; from any thread."""
        self._work.append(work)
        self._wake()

    def submit_to_loop(self, callback: Callable[[], None]) -> None:
        """Has a callback called by the loop; from any thread."""
        self._for_loop.append(callback)
        if self._is_calling:
            return
        self._is_calling = True
        if self._is_turning:
            self.loop.call_soon_threadsafe(self._call_in_loop)
        else:
            self.submit(self._call_in_loop)

    def _call_in_loop(self) -> None:
        self._is_calling = False
        while self._for_loop:
            self.loop.call_soon(self._for_loop.popleft())

    def _wake(self) -> None:
        """Wakes the main thread once for all that comes before it looks."""
        if self._is_woken:
            return
        self._is_woken = True
        if self._is_turning:
            self.loop.call_soon_threadsafe(self.loop.stop)
        else:
            self._wakes.put(None)

    def _want_turn(self) -> None:
        self._tool_loop.wants_turn = True

    def _loop_called(self) -> None:
        # While it turns, the loop is woken by itself.
        if not self._is_turning:
            self._wake()

    def _wait(self) -> None:
        """Waits for work, and for what is added to the loop."""
        # In this order: whoever comes from here on wakes this thread again.
        self._is_woken = False
        while not (self._work or self._tool_loop.wants_turn or self._stopping):
            self._wakes.get()
            self._is_woken = False

    def _turn(self) -> None:
        """Runs the loop until work comes, or until nothing is on it."""
        loop = self._tool_loop
        if not loop.wants_turn:
            return
        # In this order: work that comes from here on stops the loop.
        self._is_turning = True
        self._is_woken = False
        if not (self._work or self._stopping):
            self._run_loop(loop)
        # In this order: from here on this thread is woken where it waits.
        self._is_turning = False

    def _run_loop(self, loop: ToolLoop) -> None:
        loop.wants_turn = False
        self._is_idle = False
        self._selector.on_idle = None if loop.hears_signals else self._idle
        self._selector.gathering = self.gathering
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            _logger.exception("a task or callback tried to end the worker")
        finally:
            self._selector.on_idle = None
            self._selector.gathering = None
            self.gathering.release()
        if not self._is_idle:
            # It was stopped, by work or by user code.
            loop.wants_turn = True

    def _idle(self) -> None:
        self._is_idle = True
        self.loop.stop()
