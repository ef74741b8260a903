"""Runs a plain call of a coroutine in a task of its own.

What a tool leaves in its task, its end or a registry that has tasks as its keys, no other
call finds. Waiting calls that never suspend run in one turn of the loop, since a turn
takes several times as long as a small call.
"""

from __future__ import annotations

from asyncio import CancelledError, current_task
from collections.abc import Coroutine
from contextvars import Context
from typing import TYPE_CHECKING, Any, NoReturn

from snakepit_bridge.calls.cancel.trampoline import drive_by_name_for, drive_for
from snakepit_bridge.calls.context.call import NOT_SAMPLED
from snakepit_bridge.calls.run.call_state import CallState
from snakepit_bridge.calls.run.compact_result import pack_result
from snakepit_bridge.calls.run.coroutine_call import CoroutineCall
from snakepit_bridge.failures.failure import taken_back
from snakepit_bridge.threads.gathering import MOST_HELD_NS
from snakepit_bridge.values.decode import read_short
from snakepit_bridge.values.short import pack_short

if TYPE_CHECKING:
    from snakepit_bridge.calls.run.call_sink import TerminalFrame
    from snakepit_bridge.calls.run.coroutines import Coroutines

__all__ = ["CoroutineRun"]

# A global is found faster than a member of an enumeration.
_RUNNING, _ENDED = CallState.RUNNING, CallState.ENDED
_MOST_US = MOST_HELD_NS // 1000


class CoroutineRun(Coroutine[Any, Any, None]):
    """The object that one task runs. It is not a coroutine of Python: those are not
    resumed in the context of a call, and end unnoticed if they are cancelled before
    they begin.
    """

    # The name that asyncio shows for the task.
    __name__ = "call"
    # Set when a call suspends.
    _call: CoroutineCall
    _context: Context
    _coroutine: Coroutine[Any, Any, Any] | None = None
    # Whether the coroutine returns the frame, and not the tool's value.
    _gives_frame = False
    _begun_us = 0
    # When the last call ended.
    _now_us = 0

    def __init__(self, of: Coroutines) -> None:
        self._of = of

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
            self._of.run_cancelled()
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
            if not of.begins(call.number):
                call.settle(taken_back(call.number))
                of.run_ended()
                raise StopIteration
            call.state = _RUNNING
            context = of.context
            is_idle = True
            if tracing is not None:
                if call.traceparent is NOT_SAMPLED:
                    context = tracing.unrecorded(context)
                else:
                    is_idle = tracing.is_idle(call.traceparent)
            context = context.copy()
            try:
                coroutine = self._coroutine_of(call, is_idle, begun_us)
                awaited = context.run(coroutine.send, None)
            except StopIteration as end:
                value = end.value
                task: Any = current_task()
                if task._must_cancel:
                    value = self._cancelled_itself(call, context)
            except BaseException as error:  # noqa: BLE001 - see above
                value = context.run(call.failed, error)
                self._gives_frame = True
            else:
                self._call, self._context = call, context
                self._coroutine, self._begun_us = coroutine, begun_us
                of.gathering.progress += 1
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
            of.run_ended()
            raise
        of.run_ended()
        raise StopIteration

    def _coroutine_of(
        self, call: CoroutineCall, is_idle: bool, begun_us: int
    ) -> Coroutine[Any, Any, Any]:
        tool = call.tool
        if call.is_wanted and is_idle:
            given: Any = read_short(call.arguments)
            if type(given) is list and tool.signature.passes(given):
                return drive_for(call, tool.function, given)
            if type(given) is dict and tool.signature.passes_named(given):
                return drive_by_name_for(call, tool.function, given)
        self._gives_frame = True
        return call.awaited_answer(begun_us * 1000)

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
            value = context.run(call.failed, error)
            self._gives_frame = True
        frame = self._frame(call, context, value, self._begun_us)
        call.over()
        self._coroutine = None
        self._deliver(call, frame, self._of.table.outbox.held)
        self._of.run_ended()
        raise StopIteration

    def _cancelled_itself(self, call: CoroutineCall, context: Context) -> TerminalFrame:
        """Returns the frame of a call that cancelled its task and then returned: code
        that awaits such a task sees a cancellation.
        """
        self._gives_frame = True
        return context.run(call.failed, CancelledError())

    def _frame(
        self, call: CoroutineCall, context: Context, value: Any, begun_us: int
    ) -> TerminalFrame:
        """Returns the frame of a call that ends now, with the result of its
        coroutine.
        """
        frame: TerminalFrame
        image = None if self._gives_frame else pack_short(value)
        now_us = self._now_us = self._of.now_ns() // 1000
        if image is not None and len(image) <= self._of.most_bytes:
            return pack_result(call.number, begun_us, now_us - begun_us, image)
        if self._gives_frame:
            self._gives_frame = False
            frame = value
        else:
            # A coroutine's own value is not awaited again.
            answer: Any = context.run(call.answer_with, value, begun_us * 1000)
            frame = answer
        return frame

    def _deliver(
        self, call: CoroutineCall, frame: TerminalFrame, may_wait: bool
    ) -> None:
        """Ends a call; its frame may wait for the next ones."""
        of = self._of
        table, keep, gathering = of.table, of.keep, of.gathering
        # Before it holds anything back; see that function.
        gathering.progress += 1
        ends_here = type(frame) is bytes and call.ends_with_answer
        if not may_wait:
            table.outbox.held = False
        elif keep is not None and ends_here:
            # It waits only in memory that the host can read, whatever the next call
            # does.
            table.outbox.held = keep(frame)  # type: ignore[arg-type]
        else:
            # The next call may block the loop, in which case the bridge's thread sends it.
            gathering.hold()
        if ends_here:
            call.state = _ENDED
            table.outbox.put_last(frame)
            # After the frame: a worker that leaves exits when no call is left.
            del table.running[call.number]
            if table.replies or table.on_forgotten is not None:
                table.follow_up(call.number)
        else:
            call.settle(frame)
