"""Chooses what runs a call: the queue of the main thread, a task of the loop, a thread, or
a batch.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from contextvars import Context, copy_context

from snakepit_bridge.calls.cancel.cancel_signal import task_interrupt
from snakepit_bridge.calls.run.run_tool import await_later
from snakepit_bridge.calls.run.running_call import CallState, RunningCall, nothing
from snakepit_bridge.calls.run.serial_queue import SerialQueue
from snakepit_bridge.threads.main_thread import MainThread
from snakepit_bridge.tools.tool import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Any

    from snakepit_bridge.calls.run.batches import Batches
    from snakepit_bridge.calls.run.serial_queue import CallTable
    from snakepit_bridge.calls.run.tasks import Tasks
    from snakepit_bridge.calls.run.tool_threads import ToolThreads


class Runner:
    """Runs calls. Where one at a time runs, each begins in the main thread when the one
    before is over. Otherwise coroutines run in the main thread's loop, functions in
    threads, and batches in either.
    """

    def __init__(
        self,
        main: MainThread,
        calls_per_worker: int,
        table: CallTable,
        tools: Iterable[Tool] = (),
    ) -> None:
        """Must be called in the main thread: calls see its context variables."""
        self._main = main
        self._context = copy_context()
        self._table = table
        self._tasks: Tasks | None = None
        self._queue: SerialQueue | None = None
        self._threads: ToolThreads | None = None
        self._batches: Batches | None = None
        table.withdraw = self._withdraw
        if calls_per_worker == 1:
            self._queue = SerialQueue(
                main,
                self._context,
                table,
                self._await_later,
                lambda: self._tasks_of_loop().start(),
            )
            return
        from snakepit_bridge.calls.run.tool_threads import ToolThreads

        self._threads = ToolThreads(calls_per_worker, main.run_beside)
        if any(tool.batch is not None for tool in tools):
            from snakepit_bridge.calls.run.batches import Batches

            self._batches = Batches(main, self._threads, table, self._context)

    def kind_of(self, tool: Tool) -> type[RunningCall]:
        """Returns the class of a tool's calls."""
        return self._tasks_of_loop().kind if tool.is_async else RunningCall

    def queue_of(self, tool: Tool) -> SerialQueue | Tasks | None:
        """Returns where the calls of a tool wait until they begin; None if a thread or a
        batch runs each.
        """
        queue = self._queue
        if tool.is_async and (queue is not None or tool.batch is None):
            tasks = self._tasks_of_loop()
            return queue if queue is not None and queue.one_at_a_time else tasks
        return queue

    def intake_queue_of(self, tool: Tool) -> SerialQueue | Tasks | None:
        """Returns the same if many calls may arrive there at once, in one queue."""
        queue = self.queue_of(tool)
        return None if queue is self._queue and not self._main.one_at_a_time else queue

    def submit(self, running: RunningCall) -> None:
        """Starts a call, or has it wait; in the thread that reads."""
        queue = self.queue_of(running.tool)
        if queue is not None:
            queue.submit(running)
        elif self._batches is not None and running.tool.batch is not None:
            self._batches.submit(running, running.tool.batch)
        elif self._threads is not None:
            from snakepit_bridge.calls.run.tool_threads import run_in_thread

            context = self._context.copy()
            self._threads.submit(
                functools.partial(run_in_thread, running, context, self._await_later)
            )

    def _withdraw(self, running: RunningCall) -> bool:
        queue = self.queue_of(running.tool)
        return queue is None or queue.withdraw(running)

    def drop(self, objects: list[object]) -> None:
        """Empties a list in the thread that runs tools: freeing an object may run
        code.
        """
        self._main.submit(objects.clear)

    def _tasks_of_loop(self) -> Tasks:
        if self._tasks is None:
            # asyncio is the largest part that a worker can do without.
            from snakepit_bridge.calls.run.tasks import Tasks

            queue = self._queue
            is_serial = queue is not None and queue.one_at_a_time
            self._tasks = Tasks(
                self._main,
                self._context,
                self._table,
                queue.waiting if queue is not None and is_serial else None,
                queue.tasks_ended if queue is not None and is_serial else None,
            )
        return self._tasks

    # ------------------------------------------------- what a function has returned

    def _await_later(
        self, running: RunningCall, context: Context, awaitable: Any
    ) -> None:
        """Has a call end in the event loop; in the thread that has run its function."""
        # From here on, it may not block the loop, and is interrupted by its task.
        running.call._is_async = True
        running.cancellation.by_signal = False
        running.interrupt = running.shield = nothing
        if self._threads is None:
            self._await(running, context, awaitable)
        else:
            self._main.submit(
                functools.partial(self._await, running, context, awaitable)
            )

    def _await(self, running: RunningCall, context: Context, awaitable: Any) -> None:
        def ended(task: asyncio.Task[None]) -> None:
            if running.state is CallState.ENDED:
                return
            # Tools can cancel every task, also before its first step.
            try:
                task.result()
            except BaseException as error:  # noqa: BLE001 - it is the call's
                running.settle(running.failed(error))

        task = context.run(self._main.loop.create_task, _rest_of(running, awaitable))
        running.interrupt = task_interrupt(self._main, running.cancellation, task)
        task.add_done_callback(ended)


async def _rest_of(running: RunningCall, awaitable: Any) -> None:
    running.settle(await await_later(running, awaitable))
