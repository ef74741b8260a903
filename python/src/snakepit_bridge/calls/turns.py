"""Calls that came while another one runs, which begin one after the other."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import Protocol

from snakepit_bridge.calls.call_page import CallPage
from snakepit_bridge.calls.call_state import CallState
from snakepit_bridge.calls.running_call import RunningCall
from snakepit_bridge.threads.main_thread import MainThread

__all__ = ["TurnTable", "Turns"]


class TurnTable(Protocol):
    """What reports that a call is over."""

    page: CallPage | None
    on_over: Callable[[RunningCall], None] | None


class Turns:
    """Begins each call in the main thread when the one before is over, in the order in
    which they came."""

    def __init__(self, main: MainThread, start: Callable[[RunningCall], None]) -> None:
        """`start` starts a call, in the main thread; one that runs there returns at its
        end."""
        self._main = main
        self._start = start
        self._waiting: deque[RunningCall] = deque()
        self._current: RunningCall | None = None
        main.one_at_a_time = True

    def submit(self, running: RunningCall) -> None:
        """Adds a call; in the thread that reads."""
        self._main.submit(functools.partial(self._arrived, running))

    def over(self, running: RunningCall) -> None:
        """Notes that a call is over; from any thread."""
        if running is self._current:
            self._current = None
            if self._waiting:
                self._main.submit(self._go_on)

    def _arrived(self, running: RunningCall) -> None:
        self._waiting.append(running)
        self._go_on()

    def _go_on(self) -> None:
        while self._waiting and self._current is None:
            running = self._waiting.popleft()
            self._current = running
            if running.state is CallState.ENDED:
                # It was cancelled while it waited.
                self._current = None
            else:
                self._start(running)
