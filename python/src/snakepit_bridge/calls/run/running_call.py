"""A call from its frame to its terminal frame."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context
from time import perf_counter_ns

from snakepit_bridge.calls.cancel.cancellation import Cancellation
from snakepit_bridge.calls.context.call import CURRENT, Call, NoHandles
from snakepit_bridge.calls.memory.shared_memory import LargePart, SharedMemory
from snakepit_bridge.calls.run.call_state import CallState
from snakepit_bridge.calls.run.compact_result import compact_result, ran_us, wrapped_us
from snakepit_bridge.failures.failure import (
    cancelled,
    not_transferable,
    taken_back,
    too_large,
)
from snakepit_bridge.frames import Chunk, End, Result
from snakepit_bridge.tools.binding import Arguments, bind
from snakepit_bridge.tools.declaration import Answers
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import Attachment, encode
from snakepit_bridge.values.short import pack_short
from snakepit_bridge.values.value_not_transferable import ValueNotTransferable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from snakepit_bridge import frames
    from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
    from snakepit_bridge.calls.memory.segments import CallMemory, StreamFile
    from snakepit_bridge.calls.run.call_sink import CallSink, TerminalFrame
    from snakepit_bridge.calls.run.credit import Credit
    from snakepit_bridge.telemetry.tracing import ToolSpan

__all__ = ["FRAME_ROOM", "GoesOn", "RunningCall", "nothing"]

# The most bytes around a value in its frame.
FRAME_ROOM = 64
# Held while a call begins or is cancelled. One lock for all calls costs less than one
# for each.
_LOCK = threading.Lock()
# A global is found faster than an attribute of a class.
_WAITING, _RUNNING, _ENDED = CallState.WAITING, CallState.RUNNING, CallState.ENDED
_REFERENCE, _EITHER = Answers.REFERENCE, Answers.EITHER


class GoesOn(Exception):
    """A tool that is no coroutine has made what must be awaited: the call goes on in the
    event loop.

    Attributes:
        made: an awaitable, or an asynchronous iterator.
    """

    def __init__(self, made: Any) -> None:
        super().__init__("the call goes on")
        self.made = made


def nothing() -> None: ...


class RunningCall:
    """One call inside the bridge.

    Attributes:
        tool: what is called.
        number: that of the call, for this worker.
        call: the tool's view of the call.
        cancellation: that of the call.
        credit: how many chunks the host wants; None where it wants one result.
        interrupt: interrupts the tool's code; set by the code that runs the tool.
        shield: keeps interrupts from the code that follows the tool's; set likewise.
        context: the context variables that the tool runs with; set when it starts.
        state: the phase of the call.
        began: whether user code may have begun.
        is_compact: whether the host asked for a compact result, if it can be one.
        is_coroutine: whether `Coroutines` runs it.
        was_cancelled: whether `cancellation` has been requested, or is about to be.
    """

    # Attributes of the class until they change: few calls change many of them.
    context: Context
    credit: Credit | None = None
    interrupt: Callable[[], None] = staticmethod(nothing)
    shield: Callable[[], None] = staticmethod(nothing)
    state: CallState = _WAITING
    began = False
    _begun_ns = 0
    is_compact = False
    is_coroutine = False
    was_cancelled = False
    _memory: CallMemory | None = None
    _span: ToolSpan | None = None
    _stream_file: StreamFile | None = None

    def __init__(
        self,
        tool: Tool,
        call: Call,
        cancellation: Cancellation,
        arguments: bytes,
        sink: CallSink,
        memory: CallMemory | None = None,
        credit: Credit | None = None,
    ) -> None:
        self.tool = tool
        self.number = call.call_id
        self.call = call
        self.cancellation = cancellation
        self.arguments = arguments
        self.sink = sink
        if memory is not None:
            self._memory = memory
        if credit is not None:
            self.credit = credit
            cancellation.watch(credit.wakeup)

    def begin(self) -> bool:
        """Returns whether to run the call; it may already be cancelled, or the host may
        have taken it back.
        """
        page = self.sink.page
        call_id = self.number
        if page is not None:
            page.announce(call_id)
        with _LOCK:
            if self.state is not _WAITING:
                return False
            if page is None or page.may_begin(call_id):
                self.state = _RUNNING
                self._begun_ns = perf_counter_ns()
                return True
            self.state = _ENDED
        self._end(taken_back(call_id))
        return False

    def enter(self, batch: ToolSpan | None = None) -> Arguments:
        """Makes the current context the call's own; returns what to call the tool with.

        Must be called once, after `begin`, in a copy of `context` or in `context`
        itself. `batch` is the span of the batch in which the call runs.

        Raises:
            CallRefused: the arguments cannot be decoded, or no handle can be given.
            ArgumentsInvalid: they do not fit the tool.
        """
        CURRENT.set(self)
        tracing = self.sink.tracing
        if tracing is not None:
            self._span = tracing.begin(self.tool, self.call, batch)
        if self.tool.answers is _REFERENCE:
            self.call.handles.require()
        arguments = bind(self.tool.signature, self._given())
        self.began = True
        return arguments

    def _given(self) -> object:
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
        return self.call.handles

    def cancel(self, reason: CancelReason) -> None:
        """Cancels the call, in the bridge's thread. A waiting call ends here. A running
        one must be interrupted until it ends.
        """
        with _LOCK:
            self.was_cancelled = True
            self.cancellation.request(reason)
            waits = self.state is _WAITING
            if waits:
                # It will not begin, so its arguments are not read.
                self.state = _ENDED
        if waits:
            self._end(cancelled(self.number, reason, began=False))

    def settle(self, frame: TerminalFrame) -> None:
        """Ends a call that began, with its terminal frame; only the first one counts.
        Called only by the code that runs the call or its batch."""
        if self.state is not _ENDED:
            self.state = _ENDED
            self._end(frame)

    def _end(self, frame: TerminalFrame) -> None:
        try:
            self._let_go(frame)
        finally:
            self.sink.settle(self.number, frame)

    def _let_go(self, frame: TerminalFrame) -> None:
        if self._stream_file is not None:
            self._stream_file.close()
        if self.call._progress is not None:
            self.call._progress.end()
        memory, self._memory = self._memory, None
        if memory is not None and not isinstance(frame, bytes):
            memory.end(frame)
        # Both refer to this call, which would be a reference cycle.
        self.interrupt = nothing
        self.__dict__.pop("context", None)
        span, self._span = self._span, None
        if span is not None:
            ended = None if isinstance(frame, bytes) else frame
            span.end(ended, self.cancellation.reason)

    def result(self, value: object) -> TerminalFrame:
        """Returns the frame with the result.

        Raises:
            CallRefused: it cannot cross.
            GoesOn: it must be awaited first.
        """
        if self.tool.may_await:
            self._await(value)
        image, attachment = self._encoded(value, "result")
        if attachment is None and self.is_compact:
            return compact_result(self.number, self._begun_ns, image)
        began_us = wrapped_us(self._begun_ns)
        return Result(self.number, began_us, ran_us(self._begun_ns), image, attachment)

    def send_chunk(self, value: object) -> None:
        """Sends a chunk.

        Raises:
            CallRefused: it cannot cross.
        """
        image, attachment = self._encoded(value, "chunk")
        if self.credit is not None:
            # Taken first, so that only allowed chunks are sent.
            attached = 0 if attachment is None else attachment.size
            self.credit.take(len(image) + attached)
        self.sink.send(Chunk(self.number, image, attachment))

    def end(self, value: object = None) -> End:
        """Returns the frame that ends a stream, with what the tool returned.

        Raises:
            CallRefused: it cannot cross.
        """
        if value is None:
            return End(self.number)
        return End(self.number, *self._encoded(value, "result"))

    def _await(self, value: object) -> None:
        """Raises `GoesOn` if a tool returned what must be awaited."""
        tool = self.tool
        if tool.awaits and not self.call._is_async and hasattr(value, "__await__"):
            raise GoesOn(value)

    def _encoded(
        self, value: object, what: str
    ) -> tuple[bytes, frames.Attachment | None]:
        """Returns the image of a value, and its attachment."""
        memory = self.sink.shared_memory
        attachment = None
        try:
            if self.tool.answers is _REFERENCE and value is not None:
                image = self.call.handles.image(value)
            elif memory is None:
                image = encode(value)
            elif (short := pack_short(value)) is not None:
                image = short  # No part of it could be shared.
            else:
                try:
                    # Most values have no large part, and need none of what shares it.
                    image = encode(value, attachment=memory.small(self.credit is None))
                except LargePart:
                    image, attachment = self._share(memory, value)
        except ValueNotTransferable as error:
            if what == "result":
                self._await(value)
            if not (self.tool.answers is _EITHER and self.call.handles.are_given):
                raise not_transferable(what, error) from None
            image = self.call.handles.image(value)
        limit = self.sink.max_message_bytes
        if len(image) + FRAME_ROOM > limit:
            if memory is not None and attachment is not None:
                if self.credit is not None:
                    memory.discard(attachment.name)
                elif self._memory is not None:
                    self._memory.take_back()
            raise too_large(f"the {what} of {self.tool.name}", len(image), limit)
        return image, attachment

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
