"""Calls of one tool that its function runs together, from their begin to their end."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import Context
from typing import Any

from snakepit_bridge.calls.batch_call import BatchCall
from snakepit_bridge.calls.call_sink import TerminalFrame
from snakepit_bridge.calls.cancel_reason import CancelReason
from snakepit_bridge.calls.cancellation import Cancellation
from snakepit_bridge.calls.context import CURRENT
from snakepit_bridge.calls.run_tool import failure_frame
from snakepit_bridge.calls.running_call import RunningCall
from snakepit_bridge.failures.failure import cancelled, failure_of
from snakepit_bridge.telemetry.tracing import ToolSpan, Tracing
from snakepit_bridge.tools.tool import Tool

__all__ = ["RunningBatch"]

_NO_CALL = 0


def _nothing() -> None:
    """Does nothing."""


class RunningBatch:
    """One batch.

    A caller that leaves while others wait gets its answer at once, and the function
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
        self.interrupt: Callable[[], None] = _nothing
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
        if self._tracing is not None and begun:
            self._span = self._context.run(
                self._tracing.begin_batch, self.tool, [each.call for each in begun]
            )
        for running in begun:
            try:
                positional, keywords = running.context.run(running.enter, self._span)
                running.cancellation.raise_if_requested()
            except BaseException as error:  # noqa: BLE001 - it ends one call only
                running.settle(failure_frame(running, error))
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
    def is_given(self) -> bool:
        """Whether the function was given its list."""
        return not self._items

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
            self._settle(running, functools.partial(failure_frame, running, error))

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
        return failure_frame(running, error)
