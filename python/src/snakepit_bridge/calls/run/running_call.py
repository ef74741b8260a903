"""A call from its frame to its terminal frame."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine

from snakepit_bridge.calls.cancel.cancel_signal import send_cancel_signal
from snakepit_bridge.calls.cancel.cancellation import Cancellation
from snakepit_bridge.calls.context.call import (
    CURRENT,
    NO_HANDLES,
    Call,
    NoHandles,
    caller_headers,
)
from snakepit_bridge.calls.memory.shared_memory import LargePart, SharedMemory
from snakepit_bridge.calls.run.compact_result import compact_result, ran_us, wrapped_us
from snakepit_bridge.failures.failure import (
    cancelled,
    failure_of,
    not_transferable,
    recalled,
    too_large,
)
from snakepit_bridge.frames import Chunk, End, Result
from snakepit_bridge.tools.binding import Arguments, bind
from snakepit_bridge.tools.declaration import Answers
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import Attachment, encode
from snakepit_bridge.values.kept_packer import pack_short
from snakepit_bridge.values.value_not_transferable import ValueNotTransferable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, TypeAlias

    from snakepit_bridge import frames
    from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
    from snakepit_bridge.calls.context.host_calls import CallHost
    from snakepit_bridge.calls.memory.call_page import BegunMarks, CallPage
    from snakepit_bridge.calls.memory.segments import CallMemory, StreamFile
    from snakepit_bridge.calls.run.credit import Credit
    from snakepit_bridge.telemetry.tracing import ToolSpan, Tracing

    class CallSink(CallHost, Protocol):
        """Where the frames of calls go. Its methods may be called in any thread."""

        max_message_bytes: int
        shared_memory: SharedMemory | None
        tracing: Tracing | None
        page: CallPage | BegunMarks | None
        # Whether a call that waits is out of its queue now, so that it does not begin.
        withdraw: Callable[[RunningCall], bool]

        def send(self, frame: frames.WorkerFrame) -> None:
            """Sends a frame."""

        def settle(self, call_id: int, frame: TerminalFrame) -> None:
            """Sends the terminal frame of a call, and forgets the call."""


# Bytes are those of `compact_result`.
TerminalFrame: TypeAlias = "Result | End | frames.Failure | bytes"
# The most bytes around a value in its frame.
FRAME_ROOM = 64
# Held while a call of a thread or batch begins, or any is cancelled. One lock for all calls
# costs less than one for each.
_LOCK = threading.Lock()


class CallState:
    """The states of a call, in order. Only `RUNNING` may be left out, by a call that
    is cancelled while it waits. No `enum`, as `Answers`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<CallState: {self._name}>"

    WAITING: CallState
    RUNNING: CallState
    ENDED: CallState


CallState.WAITING = CallState("waiting")
CallState.RUNNING = CallState("running")
CallState.ENDED = CallState("ended")

# A global is found faster than an attribute of a class.
_WAITING, _RUNNING, _ENDED = CallState.WAITING, CallState.RUNNING, CallState.ENDED
_REFERENCE, _EITHER = Answers.REFERENCE, Answers.EITHER


class AwaitLater(Exception):
    """A tool that is no coroutine has returned what must be awaited: the call continues
    in the event loop.

    Attributes:
        awaitable: an awaitable, or an asynchronous iterator.
    """

    def __init__(self, awaitable: Any) -> None:
        super().__init__("the call continues in the event loop")
        self.awaitable = awaitable


def nothing() -> None: ...


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


def _main_thread_cancellation() -> Cancellation:
    cancellation = Cancellation()
    cancellation.by_signal = True
    return cancellation


class RunningCall:
    """One call inside the bridge, which runs in the main thread; `TaskCall` runs in a
    task. The tool's view of it and its cancellation are created on first use: most
    calls need neither.

    Attributes:
        tool: what is called.
        number: that of the call, for this worker.
        arguments: as the host sent them.
        sink: where its answer goes.
        call: the tool's view of the call.
        cancellation: that of the call.
        deadline: see `Call.deadline`.
        traceparent: that of its caller, or `NOT_SAMPLED`; None where there is none.
        in_session: whether it belongs to a session.
        credit: how many chunks the host wants; None where it wants one result.
        interrupt: interrupts the tool's code; set by the code that runs the tool.
        shield: keeps interrupts from the code that follows the tool's; set likewise.
        state: the phase of the call.
        began: whether user code may have begun.
        is_usual: whether the short way of `SerialQueue` and `Tasks` can run it: it came
            in a compact frame, returns a value, and was not cancelled.
        is_compact: whether the host asked for a compact result, if it can be one.
        was_cancelled: whether `cancellation` has been requested, or is about to be.
    """

    number: int
    tool: Tool
    arguments: bytes
    sink: CallSink
    call = _MadeWhenAsked("call", lambda running: running._make_call())
    cancellation = _MadeWhenAsked("cancellation", lambda _: _main_thread_cancellation())
    # Attributes of the class until they change: few calls change many of them.
    deadline: float | None = None
    traceparent: str | None = None
    in_session = False
    credit: Credit | None = None
    interrupt: Callable[[], None] = staticmethod(send_cancel_signal)
    shield: Callable[[], None] = staticmethod(nothing)
    state: CallState = _WAITING
    began = False
    is_usual = False
    is_compact = True
    was_cancelled = False
    _is_expanded = False
    _begun_ns = 0
    _memory: CallMemory | None = None
    _span: ToolSpan | None = None
    _stream_file: StreamFile | None = None

    if TYPE_CHECKING:

        def __init__(self) -> None: ...
    else:
        # In C: a Python constructor would take longer than setting the attributes.
        __init__ = object.__init__

    @classmethod
    def of(
        cls, number: int, tool: Tool, arguments: bytes, sink: CallSink
    ) -> RunningCall:
        """Returns the call of a compact frame."""
        running = cls()
        running.number = number
        running.tool = tool
        running.arguments = arguments
        running.sink = sink
        running.is_usual = tool.is_usual
        return running

    def expand(self, memory: CallMemory | None, credit: Credit | None) -> Call:
        """Makes it the call of a frame that is not compact; returns the tool's view of
        it, before any tool sees it."""
        self.is_usual = self.is_compact = False
        self.in_session = self._is_expanded = True
        if memory is not None:
            self._memory = memory
        if credit is not None:
            self.credit = credit
            self.cancellation.watch(credit.wakeup)
        view: Call = self.call
        return view

    def suspended_in(self) -> Coroutine[Any, Any, Any] | None:
        """Returns the tool's coroutine that waits in the event loop; None in a thread."""
        return None

    def begin(self) -> bool:
        """Returns whether to run the call; it may already be cancelled, or the host may
        have recalled it.
        """
        with _LOCK:
            if self.state is not _WAITING:
                return False
            self.state = _RUNNING
        page = self.sink.page
        if page is None or page.begins(self.number):
            return True
        self.settle(recalled(self.number))
        return False

    def enter(
        self, begun_ns: int, batch: ToolSpan | None = None, *, in_queue: bool = False
    ) -> Arguments:
        """Makes the current context the call's own; returns what to call the tool with.

        Must be called once, after `begin`.

        Args:
            begun_ns: when it began, on the clock of `perf_counter_ns`.
            batch: the span of the batch in which the call runs.
            in_queue: whether the context is one of `context_for`.

        Raises:
            CallCancelled: it was cancelled.
            CallRefused: the arguments cannot be decoded, or no handle can be given.
            ArgumentsInvalid: they do not fit the tool.
        """
        self._begun_ns = begun_ns
        CURRENT.set(self)
        tracing = self.sink.tracing
        if tracing is not None and not (
            in_queue and not self._is_expanded and tracing.is_idle(self.traceparent)
        ):
            self._span = tracing.begin(self.tool, self.call, batch)
        if self.tool.answers is _REFERENCE:
            self.call.handles.require()
        arguments = bind(self.tool.signature, self._decoded_arguments())
        self.began = True
        if self.was_cancelled:
            self.cancellation.raise_if_requested()
        return arguments

    def _decoded_arguments(self) -> object:
        """Returns the arguments as the host gave them, once."""
        arguments, self.arguments = self.arguments, b""
        if not arguments:
            return None
        try:
            attached = None if self._memory is None else self._memory.reader()
            return decode(arguments, "$", attached, self._handles)
        except ValueNotTransferable as error:
            raise not_transferable("arguments", error) from None

    @property
    def _handles(self) -> NoHandles:
        """The objects of the call's session."""
        return self.call.handles if self.in_session else NO_HANDLES

    def _make_call(self) -> Call:
        name, host = self.tool.name, self.sink
        is_async = self.tool.is_async
        call = Call(self.number, name, host, self.cancellation, is_async)
        call.deadline = self.deadline
        if self.traceparent is not None:
            call.trace_context = caller_headers(self.traceparent)
        return call

    def cancel(self, reason: CancelReason) -> None:
        """Cancels the call, in the bridge's thread. A waiting call ends here. A running
        one must be interrupted until it ends.
        """
        self.is_usual = False
        with _LOCK:
            self.was_cancelled = True
            self.cancellation.request(reason)
            # In a queue, who removes a call from it decides whether it begins.
            waits = self.state is _WAITING and self.sink.withdraw(self)
            if waits:
                # It will not begin, so its arguments are not read.
                self.state = _ENDED
        if waits:
            self._end(cancelled(self.number, reason, began=False))

    def failed(self, error: BaseException) -> TerminalFrame:
        """Returns the terminal frame for what the tool raised; in the call's context."""
        reason = self.cancellation.reason
        if reason is not None:
            # Whatever a cancelled tool raises, the reason is its cancellation.
            return cancelled(self.number, reason, error, began=self.began)
        return failure_of(self.number, error, began=self.began)

    def answer_with(self, value: object, begun_ns: int) -> TerminalFrame | AwaitLater:
        """Returns the frame with a result that is not short; in the call's context,
        because it may run the tools' encoders.
        """
        self._begun_ns = begun_ns
        self.began = True
        try:
            return self.result(value)
        except AwaitLater as later:
            return later
        except BaseException as error:  # noqa: BLE001 - sys.exit() ends the call only
            return self.failed(error)

    @property
    def must_settle(self) -> bool:
        """Whether something belongs to it that must be ended with it."""
        return self._span is not None or self._is_expanded

    def settle(self, frame: TerminalFrame) -> None:
        """Ends a call that began, with its terminal frame; only the first one counts.
        Called only by the code that runs the call or its batch."""
        if self.state is not _ENDED:
            self.state = _ENDED
            self._end(frame)

    def _end(self, frame: TerminalFrame) -> None:
        try:
            self._drop_parts(frame)
        finally:
            self.sink.settle(self.number, frame)

    def _drop_parts(self, frame: TerminalFrame) -> None:
        if self._stream_file is not None:
            self._stream_file.close()
        view: Call | None = vars(self).get("call")
        if view is not None and view._progress is not None:
            view._progress.end()
        memory, self._memory = self._memory, None
        if memory is not None and not isinstance(frame, bytes):
            memory.end(frame)
        # It refers to this call, which would be a reference cycle.
        self.interrupt = nothing
        span, self._span = self._span, None
        if span is not None:
            ended = None if isinstance(frame, bytes) else frame
            span.end(ended, self.cancellation.reason)

    def result(self, value: object) -> TerminalFrame:
        """Returns the frame with the result.

        Raises:
            CallRefused: it cannot cross.
            AwaitLater: it must be awaited first.
        """
        if self.tool.may_await:
            self._await(value)
        encoding, attachment = self._encoded(value, "result")
        if attachment is None and self.is_compact:
            return compact_result(self.number, self._begun_ns, encoding)
        began_us = wrapped_us(self._begun_ns)
        return Result(
            self.number, began_us, ran_us(self._begun_ns), encoding, attachment
        )

    def send_chunk(self, value: object) -> None:
        """Sends a chunk.

        Raises:
            CallRefused: it cannot cross.
        """
        encoding, attachment = self._encoded(value, "chunk")
        if self.credit is not None:
            # Taken first, so that only allowed chunks are sent.
            attached = 0 if attachment is None else attachment.size
            self.credit.take(len(encoding) + attached)
        self.sink.send(Chunk(self.number, encoding, attachment))

    def end(self, value: object = None) -> End:
        """Returns the frame that ends a stream, with what the tool returned.

        Raises:
            CallRefused: it cannot cross.
        """
        if value is None:
            return End(self.number)
        return End(self.number, *self._encoded(value, "result"))

    def _await(self, value: object) -> None:
        """Raises `AwaitLater` if a tool returned what must be awaited."""
        tool = self.tool
        if tool.awaits and not self.call._is_async and hasattr(value, "__await__"):
            raise AwaitLater(value)

    def _encoded(
        self, value: object, role: str
    ) -> tuple[bytes, frames.Attachment | None]:
        """Returns the encoding of a value, and its attachment."""
        memory = self.sink.shared_memory
        attachment = None
        try:
            if self.tool.answers is _REFERENCE and value is not None:
                encoding = self.call.handles.reference_to(value)
            elif memory is None:
                encoding = encode(value)
            elif (short := pack_short(value)) is not None:
                encoding = short  # No part of it could be shared.
            else:
                try:
                    # Most values have no large part, and need none of what shares it.
                    encoding = encode(
                        value, attachment=memory.small(self.credit is None)
                    )
                except LargePart:
                    encoding, attachment = self._share(memory, value)
        except ValueNotTransferable as error:
            if role == "result":
                self._await(value)
            if not (self.tool.answers is _EITHER and self.call.handles.are_given):
                raise not_transferable(role, error) from None
            encoding = self.call.handles.reference_to(value)
        limit = self.sink.max_message_bytes
        if len(encoding) + FRAME_ROOM > limit:
            if memory is not None and attachment is not None:
                if self.credit is not None:
                    memory.discard(attachment.name)
                elif self._memory is not None:
                    self._memory.take_back()
            raise too_large(f"the {role} of {self.tool.name}", len(encoding), limit)
        return encoding, attachment

    def _share(
        self, memory: SharedMemory, value: object
    ) -> tuple[bytes, frames.Attachment | None]:
        def write(sink: Attachment | None) -> bytes:
            return encode(value, attachment=sink)

        credit = self.credit
        if credit is None:
            if self._memory is None:
                self._memory = memory.of_call()
            return self._memory.share(write)
        if self._stream_file is None:
            self._stream_file = memory.stream_file()
        shared = self._stream_file.share(write, credit.sent, credit.arrived)
        return memory.share(write) if shared is None else shared
