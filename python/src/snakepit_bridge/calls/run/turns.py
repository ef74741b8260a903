"""Calls that arrive while another one runs, and begin one after the other."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from snakepit_bridge.calls.run.call_state import CallState
from snakepit_bridge.calls.run.plain_call import PlainCall
from snakepit_bridge.calls.run.running_call import RunningCall, nothing
from snakepit_bridge.threads.main_thread import MainThread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from snakepit_bridge.calls.memory.call_page import BegunMarks, CallPage
else:
    Protocol = object

__all__ = ["TurnTable", "Turns"]

# A global is found faster than a member of an enumeration.
_ENDED = CallState.ENDED
# Stands for the running call if a task of `Coroutines` runs it.
_COROUTINES = object()


class TurnTable(Protocol):
    """The object that reports that a call is over."""

    page: CallPage | BegunMarks | None
    on_over: Callable[[RunningCall], None] | None
    withdraw: Callable[[RunningCall], bool]


class Turns:
    """Begins each call in the main thread when the previous one is over, in the order
    of their arrival.

    Attributes:
        waiting: the calls that have not begun.
    """

    def __init__(
        self,
        main: MainThread,
        start: Callable[[RunningCall], None],
        run_plain: Callable[[PlainCall, deque[RunningCall]], PlainCall | None],
        start_coroutines: Callable[[], None] = nothing,
    ) -> None:
        """`start` starts a call, in the main thread; one that runs there returns at its
        end. `run_plain` runs a plain call, and those of its kind behind it, up to one
        that keeps the turn;
        `start_coroutines` has those that run in the loop taken from `waiting`, until
        `coroutines_ended`."""
        self._main = main
        self._gathering = main.gathering
        self._start = start
        self._run_plain = run_plain
        self._start_coroutines = start_coroutines
        self.waiting: deque[RunningCall] = deque()
        self._current: object = None
        # Held while a call gets or ends its turn: otherwise, a call that is cancelled
        # at that moment would keep the turn for ever.
        self._turn = threading.Lock()
        # Whether the main thread is about to check the waiting calls.
        self._will_look = False
        main.one_at_a_time = True

    def submit(self, running: RunningCall) -> None:
        """Adds a call; in the thread that reads."""
        self.waiting.append(running)
        self.look()

    def look(self) -> None:
        """Makes added calls begin, unless that is about to happen; in the reading
        thread.
        """
        if self._will_look:
            return
        # After the change that the main thread must see: it clears this first and
        # checks second.
        self._will_look = True
        try:
            is_async = self.waiting[0].tool.is_async
        except IndexError:
            # It has just been withdrawn.
            is_async = False
        if is_async:
            # Leaving and entering the loop takes longer than a small call.
            self._main.submit_to_loop(self._begin_next_in_loop)
        else:
            self._main.submit(self._begin_next)

    def withdraw(self, running: RunningCall) -> bool:
        """Removes a plain call from the waiting ones, if it is there: then it does not
        begin. From any thread.
        """
        try:
            self.waiting.remove(running)
        except ValueError:
            return False
        return True

    def coroutines_ended(self) -> None:
        """Notes that the calls in the loop give the turn to a waiting call."""
        self.over(_COROUTINES)

    def over(self, running: object) -> None:
        """Notes that a call is over; from any thread."""
        with self._turn:
            if running is not self._current:
                return
            self._current = None
        if self.waiting:
            self.look()

    def _gets_turn(self, running: RunningCall) -> bool:
        """Gives the turn to a call; returns whether the call takes it. One that was
        cancelled while it waited has ended.
        """
        with self._turn:
            if running.state is _ENDED:
                return False
            self._current = running
            return True

    def _begin_next_in_loop(self) -> None:
        self._will_look = False
        waiting = self.waiting
        while self._current is None and (running := _first(waiting)) is not None:
            if not running.tool.is_async:
                # No synchronous tool runs within the loop.
                self.look()
                return
            if running.is_coroutine:
                self._current = _COROUTINES
                self._start_coroutines()
                return
            waiting.popleft()
            if self._gets_turn(running):
                self._start(running)
                self._gathering.progress += 1

    def _begin_next(self) -> None:
        waiting = self.waiting
        try:
            while self._current is None and waiting:
                try:
                    running = waiting.popleft()
                except IndexError:
                    return
                if type(running) is PlainCall:
                    goes_on = self._run_plain(running, waiting)
                    if goes_on is not None:
                        self._gets_turn(goes_on)
                elif self._gets_turn(running):
                    self._start(running)
                    self._gathering.progress += 1
        finally:
            self._will_look = False
            if waiting and self._current is None:
                self.look()


def _first(waiting: deque[RunningCall]) -> RunningCall | None:
    """Returns the first call that waits. Another thread may withdraw it meanwhile, if
    it is plain.
    """
    try:
        return waiting[0]
    except IndexError:
        return None
