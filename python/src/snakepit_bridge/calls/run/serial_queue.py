"""Runs the calls of a worker that takes one at a time, in the order of their arrival.

Each begins in the main thread when the one before is over: functions here, coroutines in
`Tasks`. Without a page of calls the host sends none before that, so none has to wait.

Most of the time of a small call is spent in the bridge's own steps. So the steps of a
usual call are in one function here, and a call that has anything unusual leaves it for
`run_function`: the short way has 1.5 times the throughput (4.6 instead of 6.8 us of
processor time for a call of a function that does nothing).
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from contextvars import Context
from time import perf_counter_ns

from snakepit_bridge.calls.cancel.trampoline import invoke_by_name_for, invoke_for
from snakepit_bridge.calls.memory.call_page import CallPage
from snakepit_bridge.calls.run.compact_result import pack_result
from snakepit_bridge.calls.run.run_tool import GeneratorRun, run_function
from snakepit_bridge.calls.run.running_call import (
    FRAME_ROOM,
    AwaitLater,
    CallState,
    RunningCall,
)
from snakepit_bridge.failures.failure import recalled
from snakepit_bridge.threads.main_thread import MainThread
from snakepit_bridge.threads.write_coalescer import MOST_HELD_NS
from snakepit_bridge.values.decode import read_short
from snakepit_bridge.values.kept_packer import pack_short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from snakepit_bridge.bridge.transport import Outbox
    from snakepit_bridge.calls.context.host_calls import Reply
    from snakepit_bridge.calls.run.running_call import CallSink

    class CallTable(CallSink, Protocol):
        """The part of the table of calls that running calls needs."""

        outbox: Outbox
        running: dict[int, RunningCall]
        replies: dict[int, tuple[int, Reply]]
        on_forgotten: Callable[[], None] | None
        on_over: Callable[[RunningCall], None] | None

        def follow_up(self, call_id: int) -> None:
            """Runs the remaining actions when a call has been removed."""

        def later(self, delay_s: float, callback: Callable[[], None]) -> None:
            """Calls back in the bridge's thread; may be called in any thread."""


# A global is found faster than an attribute of a class.
_RUNNING, _ENDED = CallState.RUNNING, CallState.ENDED
_MOST_HELD_US = MOST_HELD_NS // 1000
# `asyncio.run` takes several times as long: it opens and closes a selector and sockets.
_LEAST_LOOP_US = 20
# Stands for the running call while `Tasks` runs some.
_TASKS = object()


def always(_number: int) -> bool:
    """Of a worker without a page: every call begins."""
    return True


def never(_frame: bytes) -> bool:
    """Of a worker without a page: no answer waits."""
    return False


class SerialQueue:
    """The calls of one worker.

    Attributes:
        waiting: the calls that have not begun.
        one_at_a_time: whether a call keeps the others waiting until it is over, and not
            only while its code runs.
    """

    def __init__(
        self,
        main: MainThread,
        context: Context,
        table: CallTable,
        await_later: Callable[[RunningCall, Context, Any], None],
        start_tasks: Callable[[], None],
        now_ns: Callable[[], int] = perf_counter_ns,
    ) -> None:
        """Calls see the variables of `context`.

        Args:
            main: where functions run.
            context: is copied for each call.
            table: where answers go.
            await_later: has a call end in the event loop whose function has returned an
                awaitable.
            start_tasks: has the calls that run in the loop taken from `waiting`, until
                `tasks_ended`.
            now_ns: the clock.
        """
        self._main = main
        self._coalescer = main.coalescer
        self._context = context
        self._table = table
        self._most_bytes = table.max_message_bytes - FRAME_ROOM
        self._await_later = await_later
        self._start_tasks = start_tasks
        self._now_ns = now_ns
        self.waiting: deque[RunningCall] = deque()
        # The call that keeps its turn while the main thread is free: its stream waits
        # for credit, or it is awaited. Changed in the main thread only.
        self._current: object = None
        # Whether the main thread is about to check the waiting calls.
        self._will_look = False
        page, outbox = table.page, table.outbox
        self.one_at_a_time = main.one_at_a_time = isinstance(page, CallPage)
        # Everything that each call needs, in one tuple.
        self._parts = (
            table.running,
            always if page is None else page.begins,
            page.keep if isinstance(page, CallPage) else never,
            outbox.add,
            outbox.send_added,
        )
        table.on_over = self.over

    # ------------------------------------------------ in the thread that reads

    def submit(self, running: RunningCall) -> None:
        """Adds a call."""
        self.waiting.append(running)
        self.look()

    def look(self) -> None:
        """Makes added calls begin, unless that is about to happen."""
        if self._will_look:
            return
        # After the change that the main thread must see: it clears this first and
        # checks second.
        self._will_look = True
        try:
            is_async = self.waiting[0].tool.is_async
        except IndexError:
            # It has just been withdrawn, or the main thread was faster.
            is_async = False
        if is_async:
            # Leaving and entering the loop takes longer than a small call.
            self._main.submit_to_loop(self._begin_tasks)
        else:
            self._main.submit(self._begin_functions)

    def withdraw(self, running: RunningCall) -> bool:
        """Removes a call from the waiting ones, if it is there: then it does not begin.
        From any thread.
        """
        try:
            self.waiting.remove(running)
        except ValueError:
            return False
        return True

    # ------------------------------------------------ in the main thread

    def over(self, running: object) -> None:
        """Notes that a call is over; from any thread, if it has not begun."""
        if running is self._current:
            self._current = None
            if self.waiting:
                self.look()

    def tasks_ended(self) -> None:
        """Notes that the calls in the loop give the turn to a waiting call."""
        self.over(_TASKS)

    def _begin_tasks(self) -> None:
        self._will_look = False
        if self._current is None:
            try:
                is_async = self.waiting[0].tool.is_async
            except IndexError:
                return
            if is_async:
                self._current = _TASKS
                self._start_tasks()
            else:
                # No function runs within the loop.
                self.look()

    def _begin_functions(self) -> None:
        try:
            if self._current is None and self.waiting:
                self._run_functions()
        finally:
            self._will_look = False
            if self.waiting and self._current is None:
                self.look()

    def _run_functions(self) -> None:
        """Runs the calls that wait, up to one of a coroutine, or one that keeps the turn.

        An answer waits for the next ones only in memory that the host can read,
        whatever the next call does, and nothing else that is sent overtakes it.
        """
        table, coalescer, now_ns = self._table, self._coalescer, self._now_ns
        waiting = self.waiting
        running, begins, keep, add, send_added = self._parts
        held = 0
        # Also the end of a call, because then the next one begins.
        since_us = now_us = now_ns() // 1000
        call: RunningCall | None = None
        try:
            while True:
                # It decides, in one step, whether that call begins or is withdrawn.
                try:
                    call = waiting.popleft()
                except IndexError:
                    # It has just been withdrawn.
                    break
                tool = call.tool
                if tool.is_async:
                    waiting.appendleft(call)
                    call = None
                    break
                number = call.number
                frame: Any = None
                call.state = _RUNNING
                if begins(number):
                    begun_us = now_us
                    context: Any = None
                    is_usual = call.is_usual
                    tracing = table.tracing
                    if tracing is not None:
                        context = tracing.idle_context(self._context, call.traceparent)
                        is_usual = is_usual and context is not None
                    if context is None:
                        context = self._context.copy()
                    value = encoding = None
                    try:
                        arguments: Any = (
                            read_short(call.arguments) if is_usual else None
                        )
                        if type(arguments) is list and tool.signature.passes(arguments):
                            value = context.run(
                                invoke_for, call, tool.function, arguments
                            )
                        elif type(arguments) is dict and tool.signature.passes_named(
                            arguments
                        ):
                            value = context.run(
                                invoke_by_name_for, call, tool.function, arguments
                            )
                        else:
                            arguments = None
                            frame = self._run_unusual(call, context, begun_us * 1000)
                        if arguments is not None:
                            encoding = pack_short(value)
                            if encoding is None or len(encoding) > self._most_bytes:
                                encoding, begun_ns = None, begun_us * 1000
                                frame = context.run(call.answer_with, value, begun_ns)
                    # sys.exit() ends the call only.
                    except BaseException as error:  # noqa: BLE001
                        encoding = None
                        call.began = True
                        frame = context.run(call.failed, error)
                    now_us = now_ns() // 1000
                    if now_us - begun_us > _LEAST_LOOP_US:
                        self._main.keep_loop_current()
                    if encoding is not None:
                        frame = pack_result(
                            number, begun_us, now_us - begun_us, encoding
                        )
                    elif type(frame) is not bytes or call.must_settle:
                        self._take(call, context, frame)
                        frame = None
                        if self._current is not None:
                            coalescer.progress += 1
                            break
                    # Frees the objects of this call before the next one.
                    value = arguments = context = None
                else:
                    call.settle(recalled(number))
                if frame is not None:
                    call.state = _ENDED
                    add(frame)
                    # After the frame: a worker that leaves exits when no call is left.
                    del running[number]
                    if table.replies or table.on_forgotten is not None:
                        table.follow_up(number)
                    held += 1
                coalescer.progress += 1
                if not waiting:
                    break
                if (
                    frame is None
                    or held >= table.outbox.most_held
                    or now_us - since_us > _MOST_HELD_US
                    or not keep(frame)
                ):
                    send_added()
                    held = 0
                    since_us = now_us = now_ns() // 1000
        except BaseException as error:
            # A signal handler of the tools raised here: the call ends with it.
            if call is not None and call is not self._current:
                self._end_interrupted(call, error)
            raise
        finally:
            send_added()

    def _run_unusual(self, call: RunningCall, context: Context, begun_ns: int) -> Any:
        """Returns its terminal frame; None if it keeps the turn."""
        if call.credit is None:
            in_queue = functools.partial(run_function, call, begun_ns, in_queue=True)
            return context.run(in_queue)
        generator = GeneratorRun(call, call.credit)
        return context.run(generator.advance, self._pausing(call, generator, context))

    def _pausing(
        self, call: RunningCall, generator: GeneratorRun, context: Context
    ) -> Callable[[Callable[[], bool]], bool]:
        """Returns what a stream does that waits for credit."""
        advance = functools.partial(self._advance, call, generator, context)
        resume = functools.partial(self._main.submit, advance)

        def pause(ready: Callable[[], bool]) -> bool:
            # The main thread is free until the host wants more.
            return call.credit is None or not call.credit.wakeup.park(ready, resume)

        return pause

    def _advance(
        self, call: RunningCall, generator: GeneratorRun, context: Context
    ) -> None:
        if call.state is not _ENDED:
            pause = self._pausing(call, generator, context)
            frame = context.run(generator.advance, pause)
            self._main.keep_loop_current()
            self._take(call, context, frame)

    def _take(self, call: RunningCall, context: Context, frame: Any) -> None:
        """Ends a call with its frame, unless it keeps the turn."""
        if frame is not None and type(frame) is not AwaitLater:
            call.settle(frame)
            return
        if self.one_at_a_time:
            self._current = call
        if frame is not None:
            self._await_later(call, context, frame.awaitable)

    def _end_interrupted(self, call: RunningCall, error: BaseException) -> None:
        if call.state is _ENDED:
            self._table.running.pop(call.number, None)
        else:
            call.began = True
            call.settle(call.failed(error))
