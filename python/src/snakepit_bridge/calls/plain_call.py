"""The commonest call: a function that returns, called by a compact frame, in a worker
that runs one call at a time.

It passes from its begin to its answer in as few steps as that takes, and as one object:
the tool's view of it and its cancellation are made when they are asked for. Where
something is unusual about it, what `RunningCall` has for every call does that part.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from snakepit_bridge.calls.call_state import CallState
from snakepit_bridge.calls.cancel_signal import send_cancel_signal
from snakepit_bridge.calls.cancellation import Cancellation
from snakepit_bridge.calls.compact_result import compact_result
from snakepit_bridge.calls.context import CURRENT, Call
from snakepit_bridge.calls.run_tool import failure_frame
from snakepit_bridge.calls.running_call import FRAME_ROOM, RunningCall
from snakepit_bridge.calls.sessions import NO_HANDLES, NoHandles
from snakepit_bridge.calls.trampoline import invoke
from snakepit_bridge.tools.binding import bind
from snakepit_bridge.values.short import pack_short

if TYPE_CHECKING:
    from snakepit_bridge.calls.call_sink import CallSink, TerminalFrame
    from snakepit_bridge.calls.host_calls import CallHost
    from snakepit_bridge.tools.tool import Tool

    class PlainSink(CallSink, CallHost, Protocol):
        """Where its answer goes, and its host calls."""


__all__ = ["PlainCall"]

# A global is found faster than a member of an enumeration.
_WAITING, _ENDED = CallState.WAITING, CallState.ENDED
_Part = TypeVar("_Part")


class _MadeWhenAsked(Generic[_Part]):
    """An attribute that is made by the first look at it, from any thread, and in a signal
    handler: all looks find the same one."""

    def __init__(self, name: str, make: Callable[[Any], _Part]) -> None:
        self._name = name
        self._make = make

    def __get__(self, of: Any, _kind: type) -> _Part:
        # One step of the interpreter. What it puts there is found before this.
        made: _Part = vars(of).setdefault(self._name, self._make(of))
        return made


def _make_cancellation(_call: PlainCall) -> Cancellation:
    made = Cancellation()
    made.by_signal = True
    return made


class PlainCall(RunningCall):
    """A call of a tool that is plain.

    Attributes:
        is_bare: whether the host sent nothing with it but its arguments.
    """

    _sink: PlainSink
    # It always runs in the main thread.
    interrupt = staticmethod(send_cancel_signal)
    is_compact = True
    call = _MadeWhenAsked("call", lambda plain: plain._make_call())
    cancellation = _MadeWhenAsked("cancellation", _make_cancellation)

    def __init__(
        self,
        number: int,
        tool: Tool,
        arguments: bytes,
        sink: PlainSink,
        is_bare: bool,
    ) -> None:
        self.number = number
        self.tool = tool
        self._arguments = arguments
        self._sink = sink
        # What each call looks at: in the object itself it is found sooner.
        self.is_bare = is_bare
        self.state = _WAITING
        self._span = None
        self.was_cancelled = False

    def run(self, context: Context) -> None:
        """Runs the whole call, in the main thread."""
        if not self.begin():
            return
        frame = context.run(self._answer)
        if type(frame) is bytes and self._span is None:
            # Nothing else was made for the call that would have to end.
            self.state = _ENDED
            self._sink.settle(self.number, frame)
        else:
            self.settle(frame)

    def _answer(self) -> TerminalFrame:
        try:
            CURRENT.set(self)
            sink = self._sink
            tool = self.tool
            tracing = sink.tracing
            if tracing is not None and not (self.is_bare and tracing.is_idle()):
                self._span = tracing.begin(tool, self.call)
            given = self._given()
            if type(given) is list and tool.signature.passes(given):
                self.began = True
                if self.was_cancelled:
                    self.cancellation.raise_if_requested()
                value = invoke(tool.function, *given)
            else:
                positional, keywords = bind(tool.signature, given)
                self.began = True
                if self.was_cancelled:
                    self.cancellation.raise_if_requested()
                value = invoke(tool.function, *positional, **keywords)
            image = pack_short(value)
            if image is None or len(image) + FRAME_ROOM > sink.max_message_bytes:
                return self.result(value)
            return compact_result(self.number, self._begun_ns, image)
        except BaseException as error:  # noqa: BLE001 - sys.exit() ends the call only
            return failure_frame(self, error)

    @property
    def _handles(self) -> NoHandles:
        return NO_HANDLES if self.is_bare else self.call.handles

    def _make_call(self) -> Call:
        name, host = self.tool.name, self._sink
        return Call(self.number, name, host, self.cancellation, is_async=False)
