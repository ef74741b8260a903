"""Chooses the thread that runs a call, and how to interrupt the call there."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import Context, copy_context

from snakepit_bridge.calls.cancel.cancel_signal import (
    send_cancel_signal,
    task_interrupt,
)
from snakepit_bridge.calls.cancel.cancellation import CallCancelled
from snakepit_bridge.calls.context.call import CURRENT
from snakepit_bridge.calls.memory.call_page import CallPage
from snakepit_bridge.calls.run.call_state import CallState
from snakepit_bridge.calls.run.plain_call import PlainCall
from snakepit_bridge.calls.run.plain_run import PlainRun
from snakepit_bridge.calls.run.run_tool import (
    GeneratorRun,
    failure_frame,
    go_on,
    run_async_generator,
    run_coroutine,
    run_function,
)
from snakepit_bridge.calls.run.running_call import GoesOn, RunningCall, nothing
from snakepit_bridge.calls.run.turns import Turns, TurnTable
from snakepit_bridge.threads.main_thread import MainThread
from snakepit_bridge.tools.tool import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Any, Protocol

    from snakepit_bridge.calls.run.batches import Batches
    from snakepit_bridge.calls.run.call_sink import TerminalFrame
    from snakepit_bridge.calls.run.coroutines import Coroutines
    from snakepit_bridge.calls.run.tool_threads import ToolThreads
    from snakepit_bridge.telemetry.tracing import Tracing
else:
    Protocol = object

__all__ = ["Runner", "run_in_thread"]


class RunnerTable(TurnTable, Protocol):
    """The part of the table of calls that running calls needs."""

    tracing: Tracing | None

    def later(self, delay_s: float, callback: Callable[[], None]) -> None:
        """Calls back in the bridge's thread; may be called in any thread."""


class Runner:
    """Runs calls: asynchronous tools on the main thread's loop, synchronous tools in
    the main thread as well, or in threads if several may run at once."""

    def __init__(
        self,
        main: MainThread,
        calls_per_worker: int,
        table: RunnerTable,
        tools: Iterable[Tool] = (),
    ) -> None:
        """Must be called in the main thread: calls see its context variables."""
        self._main = main
        self._context = copy_context()
        self._threads: ToolThreads | None = None
        self._batches: Batches | None = None
        if calls_per_worker > 1:
            from snakepit_bridge.calls.run.tool_threads import ToolThreads

            self._threads = ToolThreads(calls_per_worker, main.run_beside)
            if any(tool.batch is not None for tool in tools):
                from snakepit_bridge.calls.run.batches import Batches

                self._batches = Batches(main, self._threads, table, self._context)
        # Starts a call; in the thread that reads.
        self.submit: Callable[[RunningCall], None] = self._start
        # Makes calls wait for each other; None if each starts when it arrives.
        self.turns: Turns | None = None
        # Where plain calls begin; None if there are none.
        self.plain_queue: Turns | Coroutines | None = None
        if isinstance(table.page, CallPage):
            plain = PlainRun(
                self._context,
                table,  # type: ignore[arg-type]
                main.gathering,
                main.keep_loop_current,
                self._go_on,
            )
            turns = Turns(main, self._start, plain.run, self._start_coroutines)
            table.on_over = turns.over
            table.withdraw = turns.withdraw
            self.submit = turns.submit
            self.turns = self.plain_queue = turns
        self._table = table
        self._coroutines: Coroutines | None = None

    def plain_kind(self, tool: Tool) -> type[PlainCall] | None:
        """Returns the constructor for the plain calls of a tool, which are added to
        `plain_queue`; None if its calls are not plain.
        """
        if not tool.is_plain:
            return None
        if tool.is_async:
            # asyncio is the largest part that a worker can do without.
            from snakepit_bridge.calls.run.coroutine_call import CoroutineCall

            self._make_coroutines()
            return CoroutineCall
        return None if self.turns is None else PlainCall

    def drop(self, objects: list[object]) -> None:
        """Empties a list in the thread that runs tools: freeing an object may run
        code.
        """
        self._main.submit(objects.clear)

    def _make_coroutines(self) -> Coroutines:
        if self._coroutines is None:
            from snakepit_bridge.calls.run.coroutines import Coroutines

            table, turns = self._table, self.turns
            made = self._coroutines = Coroutines(
                self._main,
                self._context,
                table,  # type: ignore[arg-type]
                deque() if turns is None else turns.waiting,
                None if turns is None else turns.coroutines_ended,
            )
            if turns is None:
                self.plain_queue = made
                self._table.withdraw = made.withdraw
        return self._coroutines

    def _start_coroutines(self) -> None:
        self._make_coroutines().start()

    def _start(self, running: RunningCall) -> None:
        running.context = self._context.copy()
        if self._batches is not None and running.tool.batch is not None:
            self._batches.submit(running, running.tool.batch)
        elif running.tool.is_async:
            self._main.submit_to_loop(functools.partial(self._start_task, running))
        elif self._threads is not None:
            work = functools.partial(run_in_thread, running, self._go_on)
            self._threads.submit(work)
        elif self.turns is not None:
            self._run_in_main(running)
        else:
            self._main.submit(functools.partial(self._run_in_main, running))

    # ------------------------------------------------- synchronous, main thread

    def _run_in_main(self, running: RunningCall) -> None:
        running.interrupt = send_cancel_signal
        running.cancellation.by_signal = True
        if not running.begin():
            return
        if running.credit is None:
            frame = running.context.run(run_function, running)
            self._main.keep_loop_current()
            self._take(running, frame)
            return
        run = GeneratorRun(running, running.credit)
        self._advance(running, run)

    def _advance(self, running: RunningCall, run: GeneratorRun) -> None:
        credit = running.credit
        if credit is None or running.state is CallState.ENDED:
            return
        resume = functools.partial(
            self._main.submit, functools.partial(self._advance, running, run)
        )

        def pause(ready: Callable[[], bool]) -> bool:
            # The main thread is free until the host wants more.
            return not credit.wakeup.park(ready, resume)

        frame = running.context.run(run.advance, pause)
        self._main.keep_loop_current()
        if frame is not None:
            self._take(running, frame)

    def _take(self, running: RunningCall, frame: TerminalFrame | GoesOn) -> None:
        if isinstance(frame, GoesOn):
            self._go_on(running, running.context, frame.made)
        else:
            running.settle(frame)

    # ------------------------------------------------- what a function has made

    def _go_on(self, running: RunningCall, context: Context, made: Any) -> None:
        """Has a call end in the event loop; in the thread that has run its function."""
        # From here on, it may not block the loop, and is interrupted by its task.
        running.call._is_async = True
        running.cancellation.by_signal = False
        running.interrupt = running.shield = nothing
        if self._threads is None:
            self._await(running, context, made)
        else:
            self._main.submit(functools.partial(self._await, running, context, made))

    def _await(self, running: RunningCall, context: Context, made: Any) -> None:
        def over(ended: asyncio.Task[None]) -> None:
            if running.state is CallState.ENDED:
                return
            # Tools can cancel every task, also before its first step.
            try:
                ended.result()
            except BaseException as error:  # noqa: BLE001 - it is the call's
                running.settle(failure_frame(running, error))

        task = context.run(self._main.loop.create_task, _rest_of(running, made))
        running.interrupt = task_interrupt(self._main, running.cancellation, task)
        task.add_done_callback(over)

    # ------------------------------------------------------------- asynchronous

    def _start_task(self, running: RunningCall) -> None:
        # A call that was cancelled while it waited for the loop no longer has a
        # context.
        context: Context | None = running.__dict__.get("context")
        if context is None:
            return
        # The task copies this context: Python 3.10 has no other way to give it one.
        context.run(CURRENT.set, running)
        task = context.run(self._main.loop.create_task, self._run_task(running))
        # This keeps the task while the call runs: a loop holds no reference to it.
        running.interrupt = task_interrupt(self._main, running.cancellation, task)
        task.add_done_callback(functools.partial(self._start_again, running))

    def _start_again(self, running: RunningCall, _ended: object) -> None:
        """Starts a call whose task was cancelled before its first step, so that it
        never runs: tools can cancel every task.
        """
        if running.state is CallState.WAITING:
            self._start_task(running)

    async def _run_task(self, running: RunningCall) -> None:
        if not running.begin():
            return
        if running.credit is None:
            running.settle(await run_coroutine(running))
        else:
            running.settle(await run_async_generator(running, running.credit))


async def _rest_of(running: RunningCall, made: Any) -> None:
    running.settle(await go_on(running, made))


# ------------------------------------------------------------ synchronous, threads


def run_in_thread(
    running: RunningCall,
    go_on: Callable[[RunningCall, Context, Any], None] | None = None,
) -> None:
    """Runs the whole call of a synchronous tool in this thread; `go_on` ends one that has
    made an awaitable.
    """
    from snakepit_bridge.calls.run.tool_threads import InterruptibleThread

    thread = InterruptibleThread(running.cancellation)
    running.interrupt = thread.interrupt
    running.shield = thread.disarm
    if not running.begin():
        thread.disarm()
        return
    frame: TerminalFrame | GoesOn | None = None
    context = running.context
    try:
        try:
            frame = context.run(_run_blocking, running)
        except CallCancelled:
            # Raised in the bridge's own code, after the tool.
            thread.disarm()
        thread.disarm()
    except CallCancelled:
        thread.disarm()
    if not isinstance(frame, GoesOn):
        running.settle(frame or failure_frame(running, CallCancelled()))
    elif go_on is not None:
        go_on(running, context, frame.made)


def _run_blocking(running: RunningCall) -> TerminalFrame | GoesOn | None:
    credit = running.credit
    if credit is None:
        return run_function(running)

    def pause(ready: Callable[[], bool]) -> bool:
        credit.wakeup.wait(ready)
        return True

    return GeneratorRun(running, credit).advance(pause)
