"""The plain calls of coroutines of one worker."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import Context
from time import perf_counter_ns

from snakepit_bridge.calls.memory.call_page import CallPage
from snakepit_bridge.calls.run.call_state import CallState
from snakepit_bridge.calls.run.coroutine_run import CoroutineRun
from snakepit_bridge.calls.run.running_call import FRAME_ROOM, RunningCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from snakepit_bridge.calls.memory.call_page import BegunMarks
    from snakepit_bridge.calls.run.coroutine_call import CoroutineCall
    from snakepit_bridge.calls.run.plain_run import PlainTable
    from snakepit_bridge.threads.main_thread import MainThread

    class CoroutineTable(PlainTable, Protocol):
        """The part of the table of calls that running coroutines needs."""

        page: CallPage | BegunMarks | None  # type: ignore[assignment]


__all__ = ["Coroutines"]


class Coroutines:
    """Starts tasks for the calls that wait, in which `CoroutineRun` runs them.

    Attributes:
        waiting: the calls that have not begun.
    """

    def __init__(
        self,
        main: MainThread,
        context: Context,
        table: CoroutineTable,
        waiting: deque[RunningCall],
        run_ended: Callable[[], None] | None = None,
        now_ns: Callable[[], int] = perf_counter_ns,
    ) -> None:
        """Calls see the variables of `context`.

        Args:
            waiting: where calls wait, also others.
            run_ended: called when a task is over, where one at a time runs; None where
                a call need not wait for the end of one that has suspended.
        """
        self.main = main
        self.gathering = main.gathering
        self.context = context
        self.table = table
        self.waiting = waiting
        self.now_ns = now_ns
        self.most_bytes = table.max_message_bytes - FRAME_ROOM
        page = table.page
        self.begins: Callable[[int], bool] = _always if page is None else page.begins
        self.keep = page.keep if isinstance(page, CallPage) else None
        self._after_run = run_ended
        # When the first answer was held back that waits for the next ones.
        self.since_us: int | None = None
        # Whether answers of this turn may be held back at all.
        self.holds = False
        # Whether the call that began last suspended, as the next one then may.
        self.suspends = False
        # Tasks that have not begun.
        self._starting = 0
        # Whether a call has begun that must end before the next one begins. One that has
        # not suspended may run the loop, and with it the tasks of the next ones.
        self._keeps_turn = False
        self._will_look = False

    def look(self) -> None:
        """Makes added calls begin; in the reading thread."""
        if not self._will_look:
            self._will_look = True
            self.main.submit_to_loop(self._look)

    def withdraw(self, running: RunningCall) -> bool:
        """See `Turns.withdraw`."""
        try:
            self.waiting.remove(running)
        except ValueError:
            return False
        return True

    def start(self) -> None:
        """Creates a task for each of the calls that wait, or for one if it may keep the
        turn; in the loop's thread.
        """
        self.since_us = None
        missing = len(self.waiting) - self._starting
        if self._after_run is not None:
            # At least one: the caller has given the turn away.
            missing = max(not self._starting, 0 if self.suspends else missing)
        for _ in range(missing):
            self._starting += 1
            self.main.submit_to_loop(self._make_task)

    def next_call(self) -> CoroutineCall | None:
        """Notes that a task begins. Returns the call that waits first, which waits no
        longer; None if it may not begin, or is none of these.
        """
        self._starting -= 1
        if self._keeps_turn:
            return None
        try:
            call = self.waiting.popleft()
        except IndexError:
            # It has just been withdrawn.
            return None
        if not call.is_coroutine:
            self.waiting.appendleft(call)
            return None
        self._keeps_turn = self._after_run is not None
        return call  # type: ignore[return-value]

    def run_ended(self) -> None:
        """Notes that a task is over, whose call has ended."""
        self._keeps_turn = False
        self.had_no_call()

    def run_cancelled(self) -> None:
        """Notes that a task is over that has not begun."""
        self._starting -= 1
        self.had_no_call()

    def had_no_call(self) -> None:
        """Notes that a task is over that has run no call."""
        if self._after_run is None:
            self.start()
        elif not self._starting and not self._keeps_turn:
            self._after_run()

    def end_interrupted(self, call: CoroutineCall, error: BaseException) -> None:
        """Ends a call in which a signal handler of the tools raised, in the bridge's own
        code."""
        if call.state is CallState.ENDED:
            self.table.running.pop(call.number, None)
        else:
            call.settle(call.failed(error))

    def _look(self) -> None:
        self._will_look = False
        self.start()

    def _make_task(self) -> None:
        self.main.loop.create_task(CoroutineRun(self))


def _always(_number: int) -> bool:
    return True
