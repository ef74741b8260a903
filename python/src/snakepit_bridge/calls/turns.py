"""Calls that came while another one runs, which begin one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Protocol

from snakepit_bridge.calls.call_state import CallState
from snakepit_bridge.calls.running_call import RunningCall
from snakepit_bridge.threads.gathering import MOST_HELD_NS
from snakepit_bridge.threads.main_thread import MainThread

if TYPE_CHECKING:
    from snakepit_bridge.calls.begun_marks import BegunMarks
    from snakepit_bridge.calls.call_page import CallPage

__all__ = ["TurnTable", "Turns"]

# A global is found faster than a member of an enumeration.
_ENDED = CallState.ENDED


class TurnTable(Protocol):
    """What reports that a call is over."""

    page: CallPage | BegunMarks | None
    on_over: Callable[[RunningCall], None] | None


class Turns:
    """Begins each call in the main thread when the one before is over, in the order in
    which they came."""

    def __init__(
        self,
        main: MainThread,
        start: Callable[[RunningCall], None],
        now_ns: Callable[[], int] = perf_counter_ns,
    ) -> None:
        """`start` starts a call, in the main thread; one that runs there returns at its
        end."""
        self._main = main
        self._now_ns = now_ns
        self._gathering = main.gathering
        self._start = start
        self._waiting: deque[RunningCall] = deque()
        self._current: RunningCall | None = None
        # Whether the main thread is going to look at the calls that wait.
        self._will_look = False
        main.one_at_a_time = True

    def submit(self, running: RunningCall) -> None:
        """Adds a call; in the thread that reads."""
        self._waiting.append(running)
        if not self._will_look:
            self._have_looked_at()

    def over(self, running: RunningCall) -> None:
        """Notes that a call is over; from any thread."""
        if running is self._current:
            self._current = None
            if self._waiting and not self._will_look:
                self._have_looked_at()

    def _have_looked_at(self) -> None:
        # After the change that the main thread is to see: it clears this first, and
        # looks second.
        self._will_look = True
        if self._waiting[0].tool.is_async:
            # To leave the loop and enter it again takes longer than a small call.
            self._main.submit_to_loop(self._begin_next_in_loop)
        else:
            self._main.submit(self._begin_next)

    def _begin_next_in_loop(self) -> None:
        self._will_look = False
        waiting = self._waiting
        while waiting and self._current is None:
            if not waiting[0].tool.is_async:
                # No synchronous tool runs within the loop.
                self._have_looked_at()
                return
            running = waiting.popleft()
            # One that was cancelled while it waited has ended.
            if running.state is not _ENDED:
                self._current = running
                self._start(running)
                self._gathering.progress += 1

    def _begin_next(self) -> None:
        waiting = self._waiting
        gathering = self._gathering
        outbox = gathering.outbox
        now_ns = self._now_ns
        since = now_ns()
        try:
            while waiting and self._current is None:
                running = waiting.popleft()
                if running.state is _ENDED:
                    continue
                self._current = running
                # To wake the host for each answer takes longer than a small call.
                outbox.held = bool(waiting)
                self._start(running)
                gathering.progress += 1
                now = now_ns()
                if now - since > MOST_HELD_NS:
                    gathering.release()
                    since = now
        finally:
            self._will_look = False
            if waiting and self._current is None:
                self._have_looked_at()
