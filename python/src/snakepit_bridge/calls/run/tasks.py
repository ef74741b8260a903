"""Runs the calls of coroutines, each in a task of its own.

What a tool leaves in its task, its end or a registry that has tasks as its keys, no other
call finds. Waiting calls that never suspend run in one turn of the loop, since a turn
takes several times as long as a small call. As in `SerialQueue`, a usual call takes a
short way (13.1 instead of 14.9 us of processor time; 12.5 instead of 20.3 us where
several run at once).
"""

from __future__ import annotations

from asyncio import CancelledError, current_task
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NoReturn

from snakepit_bridge.calls.cancel.cancel_signal import send_cancel_signal
from snakepit_bridge.calls.cancel.trampoline import drive_by_name_for, drive_for
from snakepit_bridge.calls.memory.call_page import CallPage
from snakepit_bridge.calls.run.compact_result import pack_result
from snakepit_bridge.calls.run.run_tool import run_async_generator, run_coroutine
from snakepit_bridge.calls.run.running_call import FRAME_ROOM, CallState, RunningCall
from snakepit_bridge.threads.write_coalescer import MOST_HELD_NS
from snakepit_bridge.values.decode import read_short
from snakepit_bridge.values.kept_packer import pack_short

if TYPE_CHECKING:
    import asyncio
    from typing import Literal

    from snakepit_bridge.calls.run.running_call import TerminalFrame
    from snakepit_bridge.calls.run.serial_queue import CallTable
    from snakepit_bridge.threads.main_thread import MainThread

# A global is found faster than a member of a class.
_ENDED = CallState.ENDED
_MOST_US = MOST_HELD_NS // 1000


class TaskCall(RunningCall):
    """A call that runs in a task of the loop. From the moment at which it suspends, the
    task belongs to it alone.
    """

    # The task that belongs to it alone.
    _task: asyncio.Task[None] | None = None
    # The part that was interrupted last, its first step or the task.
    _interrupted: asyncio.Task[None] | Literal["nothing"] | None = "nothing"
    _main: MainThread

    def interrupt(self) -> None:
        """Cancels the task, once. The first step is left alone: it is over in a moment.
        If a cancel still has no effect at the second check, the call blocks the
        loop.
        """
        task = self._task
        if task is self._interrupted:
            if self.cancellation.by_signal:
                send_cancel_signal()
            return
        self._interrupted = task
        if task is not None:
            self.cancellation.by_signal = True
            self._main.submit_to_loop(self._cancel_task)

    def suspended(self, task: asyncio.Task[None], main: MainThread) -> None:
        """Notes that the task belongs to this call until it ends; in that task."""
        self._task, self._main = task, main
        if self.was_cancelled:
            # It was cancelled in its first step.
            self.interrupt()

    def drop_task(self) -> None:
        """Drops its task, which refers to it."""
        self._task = None

    def suspended_in(self) -> Coroutine[Any, Any, Any] | None:
        task = self._task
        step = None if task is None else task.get_coro()
        return step.coroutine if isinstance(step, _CallTask) else None

    def _cancel_task(self) -> None:
        self.cancellation.by_signal = False
        # The call may have just ended.
        if self._task is not None:
            self._task.cancel()


class Tasks:
    """Makes tasks for the calls that wait.

    Attributes:
        waiting: the calls that have not begun.
        kind: the class of calls.
    """

    kind = TaskCall

    def __init__(
        self,
        main: MainThread,
        context: Context,
        table: CallTable,
        waiting: deque[RunningCall] | None = None,
        ended: Callable[[], None] | None = None,
        now_ns: Callable[[], int] = perf_counter_ns,
    ) -> None:
        """Calls see the variables of `context`.

        Args:
            main: has the loop.
            context: is copied for each call.
            table: where answers go.
            waiting: where calls wait, also others.
            ended: called when a task is over, where one at a time runs; None where
                a call need not wait for the end of one that has suspended.
            now_ns: the clock.
        """
        self.main = main
        self.coalescer = main.coalescer
        self.context = context
        self.table = table
        self.waiting: deque[RunningCall] = deque() if waiting is None else waiting
        self.now_ns = now_ns
        self.most_bytes = table.max_message_bytes - FRAME_ROOM
        page = table.page
        self.keep = page.keep if isinstance(page, CallPage) else None
        self._ended = ended
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

    def submit(self, running: RunningCall) -> None:
        """Adds a call; in the thread that reads."""
        self.waiting.append(running)
        self.look()

    def look(self) -> None:
        """Makes added calls begin; in the thread that reads."""
        if not self._will_look:
            self._will_look = True
            self.main.submit_to_loop(self._look)

    def withdraw(self, running: RunningCall) -> bool:
        """See `SerialQueue.withdraw`."""
        try:
            self.waiting.remove(running)
        except ValueError:
            return False
        return True

    # ------------------------------------------------ in the loop's thread

    def start(self) -> None:
        """Makes a task for each of the calls that wait, or one if it may keep the turn."""
        self.since_us = None
        missing = len(self.waiting) - self._starting
        if self._ended is not None:
            # At least one: the caller has given the turn away.
            missing = max(not self._starting, 0 if self.suspends else missing)
        for _ in range(missing):
            self._starting += 1
            self.main.submit_to_loop(self._make_task)

    def next_call(self) -> TaskCall | None:
        """Notes that a task begins. Returns the call that waits first, which waits no
        longer; None if there is none that may begin.
        """
        self._starting -= 1
        waiting = self.waiting
        if self._keeps_turn:
            return None
        try:
            call = waiting.popleft()
        except IndexError:
            # It has just been withdrawn.
            return None
        if not call.tool.is_async:
            waiting.appendleft(call)
            return None
        self._keeps_turn = self._ended is not None
        return call  # type: ignore[return-value]

    def task_ended(self) -> None:
        """Notes that a task is over, whose call has ended."""
        self._keeps_turn = False
        self.had_no_call()

    def task_cancelled(self) -> None:
        """Notes that a task is over that has not begun."""
        self._starting -= 1
        self.had_no_call()

    def had_no_call(self) -> None:
        """Notes that a task is over that has run no call."""
        if self._ended is None:
            self.start()
        elif not self._starting and not self._keeps_turn:
            self._ended()

    def end_interrupted(self, call: TaskCall, error: BaseException) -> None:
        """Ends a call in which a signal handler of the tools raised, in the bridge's own
        code."""
        if call.state is _ENDED:
            self.table.running.pop(call.number, None)
        else:
            call.began = True
            call.settle(call.failed(error))

    def _look(self) -> None:
        self._will_look = False
        self.start()

    def _make_task(self) -> None:
        self.main.loop.create_task(_CallTask(self))


class _CallTask(Coroutine[Any, Any, None]):
    """The object that one task runs. It is not a coroutine of Python: those are not
    resumed in the context of a call, and end unnoticed if they are cancelled before
    they begin.
    """

    # The name that asyncio shows for the task.
    __name__ = "call"
    # Set when a call suspends.
    _call: TaskCall
    _context: Context
    _coroutine: Coroutine[Any, Any, Any] | None = None
    # Whether the coroutine returns the frame, and not the tool's value.
    _gives_frame = False
    _begun_us = 0
    # When the last call ended.
    _now_us = 0

    def __init__(self, of: Tasks) -> None:
        self._of = of

    @property
    def coroutine(self) -> Coroutine[Any, Any, Any] | None:
        """That of the tool, once a call has suspended."""
        return self._coroutine

    # ------------------------------------------------ the task calls these

    def send(self, value: Any, /) -> Any:
        """Begins, or resumes the call that has suspended."""
        coroutine = self._coroutine
        if coroutine is None:
            return self._begin()
        try:
            return self._context.run(coroutine.send, value)
        except BaseException as error:  # noqa: BLE001 - sys.exit() ends the call only
            self._resumed_and_ended(error)

    def throw(self, error: Any, *_of_old: Any) -> Any:
        """Raises in the call that has suspended."""
        coroutine = self._coroutine
        if coroutine is None:
            # Tools can cancel every task; this one has no call yet.
            self._of.task_cancelled()
            raise StopIteration
        try:
            return self._context.run(coroutine.throw, error)
        except BaseException as raised:  # noqa: BLE001 - see above
            self._resumed_and_ended(raised)

    def close(self) -> None:
        """Does nothing: a suspended call is closed when it is freed."""

    def __await__(self) -> NoReturn:
        raise TypeError("only a task runs this")

    # ----------------------------------------------------------------------

    def _begin(self) -> Any:
        """Runs the call that waits first, if any may begin. Returns the object that it
        awaits.
        """
        of = self._of
        call = of.next_call()
        if call is None:
            of.had_no_call()
            raise StopIteration
        tracing = of.table.tracing
        begun_us = of.now_ns() // 1000
        if of.since_us is None:
            of.since_us = begun_us
            of.holds = of.table.outbox.held
        # The call may run the loop, and with it other calls and their tasks.
        since_us = of.since_us
        try:
            if not call.begin():
                of.task_ended()
                raise StopIteration
            context: Any = None
            is_usual = call.is_usual
            if tracing is not None:
                context = tracing.idle_context(of.context, call.traceparent)
                is_usual = is_usual and context is not None
            if context is None:
                context = of.context.copy()
            try:
                coroutine = self._coroutine_of(call, is_usual, begun_us)
                awaited = context.run(coroutine.send, None)
            except StopIteration as end:
                value = end.value
                task: Any = current_task()
                if task._must_cancel:
                    value = self._cancelled_itself(call, context)
            except BaseException as error:  # noqa: BLE001 - see above
                value = self._failed(call, context, error)
            else:
                self._call, self._context = call, context
                self._coroutine, self._begun_us = coroutine, begun_us
                of.coalescer.progress += 1
                call.suspended(current_task(), of.main)  # type: ignore[arg-type]
                of.suspends = True
                return awaited
            of.suspends = False
            frame = self._frame(call, context, value, begun_us)
            now_us = self._now_us
            may_wait = of.holds and now_us - since_us <= _MOST_US
            self._deliver(call, frame, may_wait)
            if not may_wait:
                of.since_us = now_us
        except StopIteration:
            raise
        except BaseException as error:
            # A signal handler of the tools raised here: the call ends with it.
            of.end_interrupted(call, error)
            of.task_ended()
            raise
        of.task_ended()
        raise StopIteration

    def _coroutine_of(
        self, call: TaskCall, is_usual: bool, begun_us: int
    ) -> Coroutine[Any, Any, Any]:
        tool = call.tool
        if is_usual:
            arguments: Any = read_short(call.arguments)
            if type(arguments) is list and tool.signature.passes(arguments):
                return drive_for(call, tool.function, arguments)
            if type(arguments) is dict and tool.signature.passes_named(arguments):
                return drive_by_name_for(call, tool.function, arguments)
        self._gives_frame = True
        if call.credit is not None:
            return run_async_generator(call, call.credit)
        return run_coroutine(call, begun_us * 1000)

    def _resumed_and_ended(self, error: BaseException) -> NoReturn:
        """Ends the suspended call with the exception of its coroutine."""
        call, context = self._call, self._context
        value: Any
        if isinstance(error, StopIteration):
            value = error.value
            task: Any = current_task()
            if task._must_cancel:
                value = self._cancelled_itself(call, context)
        else:
            value = self._failed(call, context, error)
        frame = self._frame(call, context, value, self._begun_us)
        call.drop_task()
        self._coroutine = None
        self._deliver(call, frame, self._of.table.outbox.held)
        self._of.task_ended()
        raise StopIteration

    def _cancelled_itself(self, call: TaskCall, context: Context) -> TerminalFrame:
        """Returns the frame of a call that cancelled its task and then returned: code
        that awaits such a task sees a cancellation.
        """
        return self._failed(call, context, CancelledError())

    def _failed(
        self, call: TaskCall, context: Context, error: BaseException
    ) -> TerminalFrame:
        self._gives_frame = call.began = True
        return context.run(call.failed, error)

    def _frame(
        self, call: TaskCall, context: Context, value: Any, begun_us: int
    ) -> TerminalFrame:
        """Returns the frame of a call that ends now, with the result of its
        coroutine.
        """
        encoding = None if self._gives_frame else pack_short(value)
        now_us = self._now_us = self._of.now_ns() // 1000
        if encoding is not None and len(encoding) <= self._of.most_bytes:
            return pack_result(call.number, begun_us, now_us - begun_us, encoding)
        frame: Any = value
        if not self._gives_frame:
            # A coroutine's own value is not awaited again.
            frame = context.run(call.answer_with, value, begun_us * 1000)
        self._gives_frame = False
        answer: TerminalFrame = frame
        return answer

    def _deliver(self, call: TaskCall, frame: TerminalFrame, may_wait: bool) -> None:
        """Ends a call; its frame may wait for the next ones."""
        of = self._of
        table, keep, coalescer = of.table, of.keep, of.coalescer
        # Before it holds anything back; see that function.
        coalescer.progress += 1
        ends_here = type(frame) is bytes and not call.must_settle
        if not may_wait:
            table.outbox.held = False
        elif keep is not None and ends_here:
            # It waits only in memory that the host can read, whatever the next call
            # does.
            table.outbox.held = keep(frame)  # type: ignore[arg-type]
        else:
            # The next call may block the loop, in which case the bridge's thread sends it.
            coalescer.hold()
        if ends_here:
            call.state = _ENDED
            table.outbox.put_last(frame)
            # After the frame: a worker that leaves exits when no call is left.
            del table.running[call.number]
            if table.replies or table.on_forgotten is not None:
                table.follow_up(call.number)
        else:
            call.settle(frame)
