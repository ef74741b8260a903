"""The commonest call: a function that returns, called by a compact frame, in a worker
that runs one call at a time.

It is one object, and `PlainRun` runs it in as few steps as possible: the tool's view of
it and its cancellation are created on first use. Unusual parts are left to the code
that `RunningCall` has for every call.
"""

from __future__ import annotations

from collections.abc import Callable

from snakepit_bridge.calls.cancel.cancel_signal import send_cancel_signal
from snakepit_bridge.calls.cancel.cancellation import Cancellation
from snakepit_bridge.calls.cancel.trampoline import invoke
from snakepit_bridge.calls.context.call import (
    CURRENT,
    NO_HANDLES,
    Call,
    NoHandles,
    caller_headers,
)
from snakepit_bridge.calls.run.call_state import CallState
from snakepit_bridge.calls.run.run_tool import failure_frame
from snakepit_bridge.calls.run.running_call import GoesOn, RunningCall
from snakepit_bridge.failures.failure import cancelled
from snakepit_bridge.tools.binding import Arguments, bind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
    from snakepit_bridge.calls.context.host_calls import CallHost
    from snakepit_bridge.calls.run.call_sink import CallSink, TerminalFrame
    from snakepit_bridge.tools.tool import Tool

    class PlainSink(CallSink, CallHost, Protocol):
        """Where its answer goes, and its host calls."""

        withdraw: Callable[[RunningCall], bool]


__all__ = ["PlainCall"]


class _MadeWhenAsked:
    """An attribute that is created on first use, from any thread and in a signal
    handler: all uses get the same object.
    """

    def __init__(self, name: str, make: Callable[[Any], Any]) -> None:
        self._name = name
        self._make = make

    def __get__(self, of: Any, _kind: type) -> Any:
        # One step of the interpreter. From then on, attribute access finds that object
        # first.
        return vars(of).setdefault(self._name, self._make(of))


def _make_cancellation(_call: PlainCall) -> Cancellation:
    made = Cancellation()
    made.by_signal = True
    return made


class PlainCall(RunningCall):
    """A call of a tool that is plain. A waiting call has not begun: the thread that
    removes it from the queue, in one step, decides whether it begins.

    Attributes:
        arguments: as the host sent them.
        sink: where its answer goes.
        deadline: see `Call.deadline`.
        traceparent: that of its caller, or `NOT_SAMPLED`; None where there is none.
        in_session: whether it belongs to a session.
        is_wanted: False when it was cancelled.
    """

    arguments: bytes
    sink: PlainSink
    is_wanted: bool
    # It always runs in the main thread.
    interrupt = staticmethod(send_cancel_signal)
    is_compact = True
    # Attributes of the class if a call has none, which is usual.
    deadline: float | None = None
    traceparent: str | None = None
    in_session = False
    call = _MadeWhenAsked("call", lambda plain: plain._make_call())
    cancellation = _MadeWhenAsked("cancellation", _make_cancellation)

    if TYPE_CHECKING:

        def __init__(self) -> None: ...
    else:
        # In C: a Python constructor would take longer than setting the attributes.
        __init__ = object.__init__

    @classmethod
    def of(
        cls, number: int, tool: Tool, arguments: bytes, sink: PlainSink
    ) -> PlainCall:
        """Returns a call."""
        plain = cls()
        plain.number = number
        plain.tool = tool
        plain.arguments = arguments
        plain.sink = sink
        plain.is_wanted = True
        return plain

    def cancel(self, reason: CancelReason) -> None:
        """See `RunningCall.cancel`."""
        self.is_wanted = False
        self.was_cancelled = True
        self.cancellation.request(reason)
        if self.sink.withdraw(self):
            self.state = CallState.ENDED
            self._end(cancelled(self.number, reason, began=False))

    @property
    def ends_with_answer(self) -> bool:
        """Whether nothing was created for it that would have to be ended."""
        return self._span is None

    def answer(self, begun_ns: int) -> TerminalFrame | GoesOn:
        """Runs the call, even if it is unusual; in its own context."""
        try:
            positional, keywords = self._enter_plain(begun_ns)
            return self.result(invoke(self.tool.function, *positional, **keywords))
        except GoesOn as goes_on:
            return goes_on
        except BaseException as error:  # noqa: BLE001 - sys.exit() ends the call only
            return failure_frame(self, error)

    def _enter_plain(self, begun_ns: int) -> Arguments:
        """Does what `enter` does, and raises if the call was cancelled."""
        self._begun_ns = begun_ns
        CURRENT.set(self)
        tracing = self.sink.tracing
        if tracing is not None and not tracing.is_idle(self.traceparent):
            self._span = tracing.begin(self.tool, self.call)
        arguments = bind(self.tool.signature, self._given())
        self.began = True
        if self.was_cancelled:
            self.cancellation.raise_if_requested()
        return arguments

    def answer_with(self, value: object, begun_ns: int) -> TerminalFrame | GoesOn:
        """Returns the frame with a result that is not short; in the call's context,
        because it may run the tools' encoders.
        """
        self._begun_ns = begun_ns
        try:
            return self.result(value)
        except GoesOn as goes_on:
            return goes_on
        except BaseException as error:  # noqa: BLE001 - see above
            return self.failed(error)

    def failed(self, error: BaseException) -> TerminalFrame:
        """Returns the frame for the tool's exception; in the call's context."""
        self.began = True
        return failure_frame(self, error)

    @property
    def _handles(self) -> NoHandles:
        return self.call.handles if self.in_session else NO_HANDLES

    def _make_call(self) -> Call:
        name, host = self.tool.name, self.sink
        is_async = self.tool.is_async
        call = Call(self.number, name, host, self.cancellation, is_async)
        call.deadline = self.deadline
        if self.traceparent is not None:
            call.trace_context = caller_headers(self.traceparent)
        return call
