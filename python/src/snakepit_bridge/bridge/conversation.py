"""What the host's frames lead to."""

from __future__ import annotations

import difflib
import logging
import time
from collections.abc import Callable, Mapping

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.bridge.host_link import HostLink
from snakepit_bridge.calls.call_memory import CallMemory
from snakepit_bridge.calls.cancellation import Cancellation
from snakepit_bridge.calls.cancelled import CancelReason
from snakepit_bridge.calls.context import Call
from snakepit_bridge.calls.credit import Credit
from snakepit_bridge.calls.host_functions import HostFunctions
from snakepit_bridge.calls.input_stream import INPUT_WINDOW, InputStream
from snakepit_bridge.calls.runner import Runner
from snakepit_bridge.calls.running_call import RunningCall
from snakepit_bridge.calls.sessions import Sessions
from snakepit_bridge.calls.shared_memory import AttachmentInvalid
from snakepit_bridge.failures.failure import CallRefused, not_transferable, refused
from snakepit_bridge.telemetry.tracing import Tracing
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.values.no_image import NoImage

__all__ = ["Conversation"]

_logger = logging.getLogger(__name__)

_REASONS = {
    pb.CANCEL_REASON_DEADLINE: CancelReason.DEADLINE,
    pb.CANCEL_REASON_SHUTDOWN: CancelReason.SHUTDOWN,
}


class Conversation:
    """The one conversation of this worker; only one thread at a time uses it."""

    def __init__(
        self,
        tools: Mapping[str, Tool],
        calls: CallTable,
        runner: Runner,
        tracing: Tracing | None,
    ) -> None:
        self._tools = tools
        self._calls = calls
        self._runner = runner
        self._tracing = tracing
        self._link = HostLink(calls, tracing)
        self._sessions = Sessions()
        self._leaving = False
        self._on_frame: dict[str, Callable[[pb.HostFrame], None]] = {
            "cancel": lambda frame: self._cancel(frame.cancel),
            "credit": lambda frame: self._credit(frame.credit),
            "input": lambda frame: self._input(frame.input),
            "input_end": lambda frame: self._input_end(frame.input_end),
            "host_result": lambda frame: self._host_result(frame.host_result),
            "host_failure": lambda frame: self._host_failure(frame.host_failure),
            "session_end": lambda frame: self._session_end(frame.session_end),
        }

    def receive(self, frame: pb.HostFrame) -> None:
        """Acts on a frame."""
        if frame.HasField("call"):
            self._call(frame.call)
            return
        kind = frame.WhichOneof("frame")
        act = self._on_frame.get(kind or "")
        if act is None:
            _logger.warning("ignored a frame of a kind that is not known here")
        else:
            act(frame)

    def leave(self) -> None:
        """Refuses calls from now on."""
        self._leaving = True

    def _call(self, frame: pb.Call) -> None:
        if self._calls.get(frame.call_id) is not None:
            _logger.error("ignored a second call %d", frame.call_id)
            return
        memory: CallMemory | None = None
        try:
            memory = self._memory(frame)
            running = self._accept(frame, memory)
        except CallRefused as refusal:
            answer = refused(frame.call_id, refusal, began=False)
            if memory is not None:
                memory.end(answer)
            self._calls.send(answer)
            return
        self._calls.add(running)
        self._runner.submit(running)

    def _memory(self, frame: pb.Call) -> CallMemory | None:
        """Returns what the call has of the shared memory, also if it is refused: its
        segments are known here then."""
        shared = self._calls.shared_memory
        try:
            if shared is not None:
                return shared.call(frame)
            if frame.HasField("attachment"):
                raise AttachmentInvalid("an attachment came, and none was agreed")
        except AttachmentInvalid as error:
            raise not_transferable(NoImage("$", str(error))) from None
        return None

    def _accept(self, frame: pb.Call, memory: CallMemory | None) -> RunningCall:
        if self._leaving:
            raise CallRefused(pb.FAILURE_KIND_LEAVING, "the worker is leaving")
        tool = self._tools.get(frame.tool)
        if tool is None:
            raise _not_found(frame.tool, self._tools)
        streams = frame.HasField("stream_credit")
        _check_shape(tool, streams, frame.has_input)
        cancellation = Cancellation()
        call = Call(
            frame.call_id,
            tool.name,
            session=self._sessions.dictionary(frame.session_id),
            deadline=time.monotonic() + frame.timeout_ms / 1000
            if frame.timeout_ms
            else None,
            trace_context=dict(frame.trace_context) if frame.trace_context else {},
            host_functions=HostFunctions(frame.call_id, self._link, cancellation),
            input_stream=self._input_stream(frame, tool, cancellation)
            if frame.has_input
            else None,
            cancellation=cancellation,
            is_async=tool.kind.is_async,
        )
        credit = Credit(frame.stream_credit, frame.stream_bytes) if streams else None
        return RunningCall(
            tool,
            call,
            cancellation,
            frame.arguments,
            memory,
            credit,
            self._calls,
            self._tracing,
        )

    def _input_stream(
        self, frame: pb.Call, tool: Tool, cancellation: Cancellation
    ) -> InputStream:
        call_id = frame.call_id

        def grant(items: int) -> None:
            credit = pb.Credit(call_id=call_id, chunks=items)
            self._calls.send(pb.WorkerFrame(input_credit=credit))

        grant(INPUT_WINDOW)
        return InputStream(cancellation, tool.input, grant)

    def _cancel(self, frame: pb.Cancel) -> None:
        reason = _REASONS.get(frame.reason, CancelReason.CALLER)
        self._calls.cancel(frame.call_id, reason)

    def _credit(self, frame: pb.Credit) -> None:
        running = self._calls.get(frame.call_id)
        if running is not None and running.credit is not None:
            running.credit.grant(frame.chunks)

    def _input(self, frame: pb.Input) -> None:
        running = self._calls.get(frame.call_id)
        if running is not None:
            running.call.input.put(frame.value)

    def _input_end(self, frame: pb.InputEnd) -> None:
        running = self._calls.get(frame.call_id)
        if running is not None:
            running.call.input.end(frame.error_message)

    def _host_result(self, frame: pb.HostResult) -> None:
        reply = self._calls.reply(frame.host_call_id)
        if reply is not None:
            reply.result(frame.value)

    def _host_failure(self, frame: pb.HostFailure) -> None:
        reply = self._calls.reply(frame.host_call_id)
        if reply is not None:
            reply.failure(frame.code, frame.message)

    def _session_end(self, frame: pb.SessionEnd) -> None:
        self._sessions.end(frame.session_id)


def _not_found(name: str, tools: Mapping[str, Tool]) -> CallRefused:
    near = difflib.get_close_matches(name, tools, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    known = ", ".join(sorted(tools))
    if len(known) > 1000:
        known = f"{known[:1000]}…"
    message = f"there is no tool {name!r}{hint} (tools: {known})"
    return CallRefused(pb.FAILURE_KIND_TOOL_NOT_FOUND, message)


def _check_shape(tool: Tool, streams: bool, has_input: bool) -> None:
    if tool.kind.streams and not streams:
        problem = "answers with a stream of chunks; call it with stream()"
    elif streams and not tool.kind.streams:
        problem = "answers with one result; call it with execute()"
    elif has_input and tool.input is None:
        problem = "takes no input stream; declare it as @tool(takes_input=...)"
    else:
        return
    raise CallRefused(pb.FAILURE_KIND_WRONG_SHAPE, f"the tool {tool.name!r} {problem}")
