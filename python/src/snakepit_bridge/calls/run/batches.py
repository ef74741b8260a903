"""Runs the calls of a tool that its function takes together, in a worker that takes
several calls at a time.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from contextvars import Context
from time import monotonic, perf_counter_ns
from typing import Any

from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
from snakepit_bridge.calls.cancel.cancel_signal import task_interrupt
from snakepit_bridge.calls.cancel.cancellation import CallCancelled, Cancellation
from snakepit_bridge.calls.cancel.thread_interrupt import InterruptibleThread
from snakepit_bridge.calls.cancel.trampoline import drive, invoke
from snakepit_bridge.calls.context.batch_call import BatchCall
from snakepit_bridge.calls.context.call import CURRENT
from snakepit_bridge.calls.run.running_call import (
    AwaitLater,
    CallState,
    RunningCall,
    TerminalFrame,
    nothing,
)
from snakepit_bridge.calls.run.tool_threads import ToolThreads
from snakepit_bridge.failures.failure import cancelled, failure_of
from snakepit_bridge.telemetry.tracing import ToolSpan, Tracing
from snakepit_bridge.threads.main_thread import MainThread
from snakepit_bridge.tools.batch import Batch, batch_answers
from snakepit_bridge.tools.tool import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.calls.run.serial_queue import CallTable


# While a batch runs, this many calls arrive between two searches for calls that have
# ended.
FEW = 256


def expected_after(calls: int, waiting: int) -> int:
    """Returns for how many calls the next batch waits, after one of `calls` calls.

    Callers tend to come again in a moment. Without a wait, the first of them would run
    alone and the others behind it, or two groups would take turns and never join. It
    does not wait if enough callers are already waiting.
    """
    return calls + waiting if waiting <= calls else 0


def wait_s(batch: Batch, calls: int, expected: int, since_s: float) -> float:
    """Returns how many seconds the next batch waits for more calls.

    A call that was alone before, or that comes later, does not wait.

    Args:
        batch: what the tool declares.
        calls: how many wait.
        expected: how many are worth a wait.
        since_s: seconds since the last batch ended.
    """
    if calls >= min(expected, batch.max):
        return 0.0
    return max(0.0, batch.wait_ms / 1000 - since_s)


class BatchQueue:
    """Starts one batch after the other, with the calls that arrived meanwhile."""

    def __init__(
        self,
        batch: Batch,
        begin: Callable[[list[RunningCall]], None],
        later: Callable[[float, Callable[[], None]], None],
        now: Callable[[], float] = monotonic,
    ) -> None:
        """`begin` starts a batch elsewhere; `later` calls back after some seconds."""
        self._batch = batch
        self._begin = begin
        self._later = later
        self._now = now
        self._lock = threading.Lock()
        self._waiting: list[RunningCall] = []
        # "idle", "waits" for more calls, or "runs" a batch.
        self._state = "idle"
        self._waits = 0
        self._expected = 0
        self._ended_at = 0.0
        self._look_through_at = FEW

    def submit(self, running: RunningCall) -> None:
        """Adds a call; from any thread."""
        with self._lock:
            self._waiting.append(running)
            if len(self._waiting) >= self._look_through_at:
                self._forget_ended()
            batch = self._next()
        self._start(batch)

    def over(self, calls: int) -> None:
        """Notes that the running batch is over, and how many calls it had."""
        with self._lock:
            self._state = "idle"
            self._expected = expected_after(calls, len(self._forget_ended()))
            self._ended_at = self._now()
            batch = self._next()
        self._start(batch)

    def _waited(self, wait: int) -> None:
        """The time is over; `wait` says of which wait."""
        with self._lock:
            if self._state != "waits" or wait != self._waits:
                return
            batch = self._take(self._forget_ended())
        self._start(batch)

    def _next(self) -> list[RunningCall]:
        """Takes the next batch, if it begins now."""
        if self._state == "runs":
            return []
        waiting = self._forget_ended()
        now = self._now()
        since = now - self._ended_at
        wait = wait_s(self._batch, len(waiting), self._expected, since)
        if waiting and wait > 0 and not _would_end(waiting, now + wait):
            if self._state == "idle":
                self._state = "waits"
                self._waits += 1
                self._later(wait, functools.partial(self._waited, self._waits))
            return []
        return self._take(waiting)

    def _take(self, waiting: list[RunningCall]) -> list[RunningCall]:
        self._state = "runs" if waiting else "idle"
        self._waiting = waiting[self._batch.max :]
        return waiting[: self._batch.max]

    def _forget_ended(self) -> list[RunningCall]:
        """Returns the calls that wait; one that was cancelled meanwhile has ended."""
        waiting = [each for each in self._waiting if each.state is not CallState.ENDED]
        self._waiting = waiting
        self._look_through_at = max(FEW, 2 * len(waiting))
        return waiting

    def _start(self, batch: list[RunningCall]) -> None:
        if batch:
            self._begin(batch)


def _would_end(waiting: list[RunningCall], until: float) -> bool:
    """Returns whether the deadline of one of them comes before then."""
    deadlines = (each.call.deadline for each in waiting)
    return any(deadline is not None and deadline < until for deadline in deadlines)


_NO_CALL = 0


class RunningBatch:
    """One batch.

    A caller that leaves while others wait gets its answer immediately, and the function
    continues. When the last one leaves, the function is interrupted, as that of a
    single call, and the call ends when the function has: so the host notices a batch
    that hangs.

    Attributes:
        tool: whose function runs.
        calls: those that are to run, in the order of the list.
        call: the function's view of them, once it must run.
        cancellation: that of the function.
        interrupt: interrupts the function; set by the code that runs it.
    """

    call: BatchCall

    def __init__(
        self,
        tool: Tool,
        calls: list[RunningCall],
        context: Context,
        tracing: Tracing | None,
        elsewhere: Callable[[Callable[[], None]], None],
    ) -> None:
        """`context` belongs to the function; `elsewhere` runs code that may be user
        code.
        """
        self.tool = tool
        self.calls = calls
        self.cancellation = Cancellation()
        self.interrupt: Callable[[], None] = nothing
        self._context = context
        self._tracing = tracing
        self._elsewhere = elsewhere
        self._span: ToolSpan | None = None
        # The calls that the function runs. Code that removes a call from here must end
        # it.
        self._under_way: dict[int, RunningCall] = {}
        self._order: list[RunningCall] = []
        self._items: list[Any] = []

    def begin(self) -> bool:
        """Begins the calls; returns whether there is anything to run, which is not so
        if all were cancelled before, or no arguments fit.
        """
        begun = [running for running in self.calls if self._begins(running)]
        # Before the span of the batch is in it.
        of_calls = self._context.copy()
        if self._tracing is not None and begun:
            self._span = self._context.run(
                self._tracing.begin_batch, self.tool, [each.call for each in begun]
            )
        for running in begun:
            try:
                enter = functools.partial(running.enter, perf_counter_ns(), self._span)
                positional, keywords = of_calls.copy().run(enter)
            except BaseException as error:  # noqa: BLE001 - it ends one call only
                running.settle(running.failed(error))
                continue
            self._items += (*positional, *keywords.values())
            self._order.append(running)
        self._under_way = {each.number: each for each in self._order}
        if not self._order:
            self._end_span(None)
            return False
        self.call = BatchCall(
            [running.call for running in self._order],
            self.cancellation,
            self.tool.is_async,
        )
        self._context.run(CURRENT.set, self)
        return True

    @property
    def size(self) -> int:
        """How many calls the function runs."""
        return len(self._order)

    @property
    def is_over(self) -> bool:
        """Whether every call has ended."""
        return not self._under_way

    def take_items(self) -> list[Any]:
        """Returns what to call the function with. Only the function keeps it from then
        on: the memory of large arguments is free when the function drops them.
        """
        items, self._items = self._items, []
        return items

    def answer(self, answers: list[object]) -> None:
        """Ends the calls with an answer each."""
        self._end_span(None)
        for running, answer in zip(self._order, answers, strict=True):
            self._settle(running, functools.partial(_answer_frame, running, answer))

    def fail(self, error: BaseException) -> None:
        """Ends the calls with the exception of the function."""
        self._end_span(error)
        for running in self._order:
            self._settle(running, functools.partial(running.failed, error))

    def _settle(self, running: RunningCall, frame: Callable[[], TerminalFrame]) -> None:
        if self._under_way.pop(running.number, None) is not None:
            running.settle(frame())

    def _begins(self, running: RunningCall) -> bool:
        running.interrupt = functools.partial(self._interrupt, running)
        return running.begin()

    def _interrupt(self, running: RunningCall) -> None:
        """The caller has left; called in the bridge's thread, repeatedly until the call
        has ended.
        """
        call_id = running.number
        reason = running.cancellation.reason
        if reason is None or call_id not in self._under_way:
            return
        others = list(self._under_way.values())
        if all(other.cancellation.reason is not None for other in others):
            self.cancellation.request(reason)
            self.interrupt()
        elif self._under_way.pop(call_id, None) is not None:
            self._elsewhere(functools.partial(_leave, running, reason))

    def _end_span(self, error: BaseException | None) -> None:
        if self._span is not None:
            frame = None if error is None else failure_of(_NO_CALL, error, began=True)
            described = None if isinstance(frame, bytes) else frame
            self._span.end(described, self.cancellation.reason)


def _leave(running: RunningCall, reason: CancelReason) -> None:
    running.settle(cancelled(running.number, reason, began=True))


def _answer_frame(running: RunningCall, answer: object) -> TerminalFrame:
    try:
        if isinstance(answer, BaseException):
            raise answer
        return running.result(answer)
    except BaseException as error:  # noqa: BLE001 - it ends one call only
        return running.failed(error)


class Batches:
    """The batches of all tools. Those of one tool follow each other: while one runs,
    the calls of the next one gather."""

    def __init__(
        self,
        main: MainThread,
        threads: ToolThreads,
        table: CallTable,
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
            submit(functools.partial(self._run_in_thread, batch, context, over))

    def _start_soon(
        self, batch: RunningBatch, context: Context, over: Callable[[], None]
    ) -> None:
        # Not in the reading thread, which would block reading: the check of arguments
        # may run code of the tools.
        self._main.loop.call_soon(self._start_task, batch, context, over)

    def _start_task(
        self, batch: RunningBatch, context: Context, over: Callable[[], None]
    ) -> None:
        if batch.begin():
            self._make_task(batch, context, over)
        else:
            over()

    def _make_task(
        self,
        batch: RunningBatch,
        context: Context,
        over: Callable[[], None],
        awaitable: Any = None,
    ) -> None:
        """Has a batch end in the event loop: that of a coroutine, or one of which the
        function has returned something to await."""
        batch.call._is_async = True
        step = _run_task(batch, over, awaitable)
        task = context.run(self._main.loop.create_task, step)
        # This keeps the task while the batch runs: a loop holds no reference to it.
        batch.interrupt = task_interrupt(self._main, batch.cancellation, task)
        task.add_done_callback(functools.partial(_end_unbegun, batch, over))

    def _run_in_thread(
        self, batch: RunningBatch, context: Context, over: Callable[[], None]
    ) -> None:
        goes_on = False
        try:
            if batch.begin():
                outcome = _outcome(batch, context)
                if isinstance(outcome, AwaitLater):
                    goes_on = True
                    make = functools.partial(self._make_task, batch, context, over)
                    self._main.submit(functools.partial(make, outcome.awaitable))
                elif isinstance(outcome, BaseException):
                    batch.fail(outcome)
                else:
                    batch.answer(outcome)
        finally:
            if not goes_on:
                over()


async def _run_task(
    batch: RunningBatch, over: Callable[[], None], awaitable: Any
) -> None:
    try:
        try:
            if awaitable is None:
                awaitable = invoke(batch.tool.together, batch.take_items())
            answers = batch_answers(await drive(awaitable), batch.size)
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
    if not batch.is_over:
        # Loaded already: this was a task.
        from asyncio import CancelledError

        batch.fail(CancelledError())
        over()


def _outcome(batch: RunningBatch, context: Context) -> list[object] | BaseException:
    """Returns the answers, or what gives them in the loop, or what the function raised."""
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
        if hasattr(returned, "__await__"):
            return AwaitLater(returned)
        return batch_answers(returned, batch.size)
    except BaseException as error:  # noqa: BLE001 - sys.exit() ends the calls only
        thread.disarm()
        return error
