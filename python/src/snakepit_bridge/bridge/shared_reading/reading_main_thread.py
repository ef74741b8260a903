"""A main thread that reads the host's frames itself while it has nothing else to do.

A hand-over between two threads of Python costs more than the way to the host and
back, so a small call has none: it is read, run and answered here.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from typing import Any

from snakepit_bridge.bridge.shared_reading.shared_selector import SharedSelector
from snakepit_bridge.calls.gathering import Gathering, HoldingOutbox
from snakepit_bridge.calls.main_thread import MainThread
from snakepit_bridge.calls.tool_loop import ToolLoop

__all__ = ["ReadingMainThread"]

_logger = logging.getLogger(__name__)


class _TurnSelector(SharedSelector):
    """Lets the loop come back where it would wait.

    Attributes:
        on_turn: called before each look, while the main thread turns the loop;
            None while something else does, a tool or a hook.
        on_idle: called where the loop would wait.
        idle_until: when the loop wants its next turn, on the monotonic clock;
            None where only an event wakes it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.on_turn: Callable[[], None] | None = None
        self.on_idle: Callable[[], None] = lambda: None
        self.idle_until: float | None = None

    def select(self, timeout: float | None = None) -> list[tuple[Any, int]]:
        if self.on_turn is None:
            return super().select(timeout)
        self.on_turn()
        ready = super().select(0)
        if not ready and (timeout is None or timeout > 0):
            self.idle_until = None if timeout is None else time.monotonic() + timeout
            self.on_idle()
        return ready


class ReadingMainThread(MainThread):
    """A `MainThread` that waits for the host and for its loop at once.

    Attributes:
        gathering: what holds the frames of one turn together.
    """

    def __init__(self, outbox: HoldingOutbox) -> None:
        """To be made in the main thread."""
        self.gathering = Gathering()
        self._outbox = outbox
        self._selector = _TurnSelector()
        self._tool_loop = ToolLoop(self._selector)
        super().__init__(self._tool_loop)
        self._work: deque[Callable[[], None]] = deque()
        self._is_idle = False
        self._ident = threading.get_ident()
        self._selector.on_idle = self._idle

    def read_with(self, descriptors: Collection[int], read: Callable[[], None]) -> None:
        """Has this thread read from now on, while it waits; from any thread.

        Args:
            descriptors: what becomes readable.
            read: reads all there is.
        """
        self._selector.share(descriptors, read)

    def read_no_more(self) -> None:
        """Ends that; from any thread."""
        self._selector.unshare()

    def _go_on(self) -> None:
        self._turn()
        self._do_work()
        self._outbox.flush()
        self._wait()

    def _recover(self) -> None:
        self._outbox.held = False
        self._tool_loop.wants_turn = True

    def submit(self, work: Callable[[], None]) -> None:
        """Has work done outside of the loop; from any thread."""
        self._work.append(work)
        if threading.get_ident() != self._ident:
            self.loop.call_soon_threadsafe(self.loop.stop)
        elif self._selector.on_turn is not None:
            # Read by the loop, in its turn.
            self.loop.stop()

    def submit_to_loop(self, callback: Callable[[], None]) -> None:
        """Has a callback called that adds to the loop; from any thread."""
        if threading.get_ident() == self._ident:
            # A factory of the tools' own may run their code, in a turn of the loop only.
            if self.loop.get_task_factory() is None:
                callback()
            else:
                self.loop.call_soon(callback)
        else:
            self.loop.call_soon_threadsafe(callback)

    def _turn(self) -> None:
        """Runs the loop until it would wait."""
        loop = self._tool_loop
        if not loop.wants_turn:
            return
        self._selector.on_turn = self._before_look
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            _logger.exception("a task or callback tried to end the worker")
            self._is_idle = False
        finally:
            self._selector.on_turn = None
            self.gathering.release()
        if not self._is_idle:
            # It was stopped, by work or by user code.
            loop.wants_turn = True

    def _before_look(self) -> None:
        self._is_idle = False
        self._tool_loop.wants_turn = False
        self.gathering.next_turn()

    def _idle(self) -> None:
        self._is_idle = True
        self.loop.stop()

    def _do_work(self) -> None:
        work = self._work
        while work and not self._stopping:
            item = work.popleft()
            if work:
                self.gathering.hold()
            else:
                self._outbox.held = False
            item()
            self.gathering.progress += 1
        self._outbox.held = False

    def _wait(self) -> None:
        """Waits until there is work, or the loop wants a turn."""
        selector = self._selector
        loop = self._tool_loop
        while not (self._work or loop.wants_turn or self._stopping):
            until = selector.idle_until
            timeout = None if until is None else max(0.0, until - time.monotonic())
            if selector.wait(timeout):
                loop.wants_turn = True
        self.gathering.progress += 1
