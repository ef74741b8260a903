"""Runs batches, in a worker that takes several calls at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import Context
from typing import Protocol

from snakepit_bridge.calls.batch_queue import BatchQueue
from snakepit_bridge.calls.cancel_signal import task_interrupt
from snakepit_bridge.calls.cancelled import CallCancelled
from snakepit_bridge.calls.running_batch import RunningBatch
from snakepit_bridge.calls.running_call import RunningCall
from snakepit_bridge.calls.tool_threads import InterruptibleThread, ToolThreads
from snakepit_bridge.calls.trampoline import drive, invoke
from snakepit_bridge.telemetry.tracing import Tracing
from snakepit_bridge.threads.main_thread import MainThread
from snakepit_bridge.tools.batch import Batch, batch_answers

__all__ = ["BatchTable", "Batches"]


class BatchTable(Protocol):
    """What batches need of the table of calls."""

    tracing: Tracing | None

    def later(self, delay_s: float, callback: Callable[[], None]) -> None:
        """Calls back in the bridge's thread; may be called in any thread."""


class Batches:
    """The batches of all tools. Those of one tool follow each other: while one runs,
    the calls of the next one gather."""

    def __init__(
        self,
        main: MainThread,
        threads: ToolThreads,
        table: BatchTable,
        context: Context,
    ) -> None:
        """`context` has the variables that tools see."""
        self._main = main
        self._threads = threads
        self._table = table
        self._context = context
        self._queues: dict[str, BatchQueue] = {}

    def submit(self, running: RunningCall, batch: Batch) -> None:
        """Adds a call to the next batch of its tool; in the thread that reads."""
        queue = self._queues.get(running.tool.name)
        if queue is None:
            queue = BatchQueue(batch, self._begin, self._table.later)
            self._queues[running.tool.name] = queue
        queue.submit(running)

    def _begin(self, calls: list[RunningCall]) -> None:
        tool = calls[0].tool
        is_async = tool.is_async
        submit = self._main.submit_to_loop if is_async else self._threads.submit
        context = self._context.copy()
        tracing = self._table.tracing
        # A thread is free while others wait for the batch: each of them could have had
        # one.
        batch = RunningBatch(tool, calls, context, tracing, self._threads.submit)
        over = functools.partial(self._queues[tool.name].over, len(calls))
        if is_async:
            submit(functools.partial(self._start_soon, batch, context, over))
        else:
            submit(functools.partial(_run_in_thread, batch, context, over))

    def _start_soon(
        self, batch: RunningBatch, context: Context, over: Callable[[], None]
    ) -> None:
        # Not in the reading thread, which would block reading: the check of arguments
        # may run code of the tools.
        self._main.loop.call_soon(self._start_task, batch, context, over)

    def _start_task(
        self, batch: RunningBatch, context: Context, over: Callable[[], None]
    ) -> None:
        if not batch.begin():
            over()
            return
        task = context.run(self._main.loop.create_task, _run_task(batch, over))
        # This keeps the task while the batch runs: a loop holds no reference to it.
        batch.interrupt = task_interrupt(self._main, batch.cancellation, task)
        task.add_done_callback(functools.partial(_end_unbegun, batch, over))


async def _run_task(batch: RunningBatch, over: Callable[[], None]) -> None:
    try:
        try:
            made = invoke(batch.tool.together, batch.take_items())
            answers = batch_answers(await drive(made), batch.size)
        except BaseException as error:  # noqa: BLE001 - sys.exit() ends the calls only
            batch.fail(error)
        else:
            batch.answer(answers)
    finally:
        over()


def _end_unbegun(batch: RunningBatch, over: Callable[[], None], _ended: object) -> None:
    """Ends a batch whose task was cancelled before its first step, so that it never
    runs: its last caller left, or a tool cancelled every task.
    """
    if not batch.is_given:
        # Loaded already: this was a task.
        from asyncio import CancelledError

        batch.fail(CancelledError())
        over()


def _run_in_thread(
    batch: RunningBatch, context: Context, over: Callable[[], None]
) -> None:
    try:
        if batch.begin():
            outcome = _outcome(batch, context)
            if isinstance(outcome, BaseException):
                batch.fail(outcome)
            else:
                batch.answer(outcome)
    finally:
        over()


def _outcome(batch: RunningBatch, context: Context) -> list[object] | BaseException:
    """Returns the answers, or what the function raised."""
    thread = InterruptibleThread(batch.cancellation)
    batch.interrupt = thread.interrupt
    outcome: list[object] | BaseException = CallCancelled()
    try:
        try:
            outcome = context.run(_call, batch, thread)
        except CallCancelled:
            # Raised in the bridge's own code, after the function.
            thread.disarm()
        thread.disarm()
    except CallCancelled:
        thread.disarm()
    return outcome


def _call(
    batch: RunningBatch, thread: InterruptibleThread
) -> list[object] | BaseException:
    try:
        returned = invoke(batch.tool.together, batch.take_items())
        thread.disarm()
        return batch_answers(returned, batch.size)
    except BaseException as error:  # noqa: BLE001 - sys.exit() ends the calls only
        thread.disarm()
        return error
