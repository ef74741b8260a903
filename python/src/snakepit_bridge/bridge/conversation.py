"""Acts on the frames that the host sends."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.bridge.host_frames import (
    COMPACT,
    CompactFields,
    deadline,
    parse_compact,
    tool_name,
)
from snakepit_bridge.bridge.plain_intake import PlainIntake, PlainTools
from snakepit_bridge.bridge_log import logger
from snakepit_bridge.calls.cancel.cancellation import Cancellation
from snakepit_bridge.calls.context.call import Call, NoHandles, Sessions, caller_headers
from snakepit_bridge.calls.run.plain_call import PlainCall
from snakepit_bridge.calls.run.runner import Runner
from snakepit_bridge.calls.run.running_call import RunningCall
from snakepit_bridge.failures.failure import CallRefused, refused
from snakepit_bridge.tools.tool import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from snakepit_bridge.calls.memory.segments import CallMemory

__all__ = ["Conversation"]


class Conversation:
    """The only conversation of this worker; one thread at a time uses it.

    Attributes:
        tools: the worker's tools, by name.
        calls: the calls under way.
        last_ping: when the last ping came, on the clock of `time.monotonic()`.
        receive_plain: see `PlainIntake.take`.
    """

    def __init__(
        self, tools: Mapping[str, Tool], calls: CallTable, runner: Runner
    ) -> None:
        self.calls = calls
        self.last_ping = time.monotonic()
        self._runner = runner
        # By name, those that a compact call can be of now, and of these those that are
        # plain, with what makes a call of it.
        self._compact_tools: dict[bytes, Tool] = {}
        self._plain_tools: PlainTools = {}
        self._intake = PlainIntake(calls, self._plain_tools)
        self.receive_plain = self._intake.take
        self._set_tools(tools)
        self._sessions = Sessions()
        self._leaving = False
        self._on_frame: dict[str, Callable[[Any], None]] = {
            "cancel": self._cancel,
            "credit": self._credit,
            "input": self._input,
            "input_end": self._input_end,
            "host_result": self._host_result,
            "host_failure": self._host_failure,
            "session_end": self._session_end,
            "progress_taken": self._progress_taken,
        }

    def allow_handles(
        self, tools: Mapping[str, Tool], hold: Callable[[], NoHandles]
    ) -> None:
        """Lets sessions hold objects, before the first call.

        Args:
            tools: what uses them, by name.
            hold: returns what holds those of a new session.
        """
        self._set_tools({**self.tools, **tools})
        self._sessions.allow_handles(hold)

    def receive(self, data: bytes) -> None:
        """Acts on the bytes of a frame.

        Raises:
            Undecodable: they are none.
        """
        if data and data[0] == COMPACT:
            self._compact_call(*parse_compact(data))
        else:
            # Most calls are compact, so this is not loaded at the start.
            from snakepit_bridge.bridge.full_call import host_frame

            self.receive_message(host_frame(data))

    def receive_message(self, frame: pb.HostFrame) -> None:
        """Acts on a frame that is not compact."""
        if frame.HasField("call"):
            self._call(frame.call)
            return
        kind = frame.WhichOneof("frame")
        if kind in self._on_frame:
            self._on_frame[kind](getattr(frame, kind))
        else:
            logger(__name__).warning("ignored a frame of an unknown kind")

    def ping(self) -> tuple[int, int]:
        """Notes a ping; returns what its answer says of this process: how many calls run,
        and its processor time in microseconds."""
        self.last_ping = time.monotonic()
        return len(self.calls.running), time.process_time_ns() // 1000

    def leave(self) -> None:
        """Refuses calls from now on."""
        self._leaving = True
        self._compact_tools.clear()
        self._plain_tools.clear()

    def _set_tools(self, tools: Mapping[str, Tool]) -> None:
        self.tools = tools
        self._compact_tools.update(_compact_tools(tools))
        for name, tool in self._compact_tools.items():
            kind = self._runner.plain_kind(tool)
            if kind is not None:
                self._plain_tools[name] = (tool, kind)
        queue = self._runner.plain_queue
        if queue is not None:
            self._intake.begin(queue)

    def _compact_call(
        self,
        call_id: int,
        name: bytes,
        arguments: bytes,
        fields: CompactFields | None,
    ) -> None:
        calls = self.calls
        tool = self._compact_tools.get(name)
        if tool is None or call_id in calls.running:
            # It is refused as any call.
            named = tool_name(name)
            self._call(pb.Call(call_id=call_id, tool=named, arguments=arguments))
            return
        if name in self._plain_tools:
            _, kind = self._plain_tools[name]
            plain = kind.of(call_id, tool, arguments, calls)
            if fields is not None:
                self._add_to_plain(fields, plain)
            self._intake.add(plain)
            return
        cancellation = Cancellation()
        call = Call(call_id, tool.name, calls, cancellation, tool.is_async)
        running = RunningCall(tool, call, cancellation, arguments, calls)
        running.is_compact = True
        if fields is not None:
            self._add(fields, call)
        calls.running[call_id] = running
        self._runner.submit(running)

    def _call(self, frame: pb.Call) -> None:
        # Most calls are compact, so this is not loaded at the start.
        from snakepit_bridge.bridge.full_call import memory_of, running_call

        calls = self.calls
        if frame.call_id in calls.running:
            logger(__name__).error("ignored a second call %d", frame.call_id)
            return
        memory: CallMemory | None = None
        try:
            memory = memory_of(frame, calls.shared_memory)
            if self._leaving:
                raise CallRefused(pb.FAILURE_KIND_LEAVING, "the worker is leaving")
            running = running_call(frame, memory, self.tools, self._sessions, calls)
        except CallRefused as refusal:
            answer = refused(frame.call_id, refusal, began=False)
            if memory is not None and not isinstance(answer, bytes):
                memory.end(answer)
            calls.outbox.put_last(answer)
            return
        calls.running[frame.call_id] = running
        self._runner.submit(running)

    def _add(self, fields: CompactFields, call: Call) -> None:
        timeout_ms, session, traceparent, may_hold = fields
        call.session = self._sessions.shared(session)
        if may_hold:
            call.handles = self._sessions.handles(session)
        call.deadline = deadline(timeout_ms)
        if traceparent:
            call.trace_context = caller_headers(traceparent)

    def _add_to_plain(self, fields: CompactFields, plain: PlainCall) -> None:
        # Its view is created on first use, if that is possible.
        timeout_ms, session, traceparent, _ = fields
        plain.deadline = deadline(timeout_ms)
        plain.traceparent = traceparent or None
        if session:
            plain.in_session = True
            self._add(fields, plain.call)

    def _cancel(self, frame: pb.Cancel) -> None:
        # Few calls are cancelled, and each import makes every start slower.
        from snakepit_bridge.calls.cancel.cancel_reason import CancelReason

        reasons = {
            pb.CANCEL_REASON_DEADLINE: CancelReason.DEADLINE,
            pb.CANCEL_REASON_SHUTDOWN: CancelReason.SHUTDOWN,
        }
        reason = reasons.get(frame.reason, CancelReason.CALLER)
        self.calls.cancel(frame.call_id, reason)

    def _credit(self, frame: pb.Credit) -> None:
        running = self.calls.running.get(frame.call_id)
        if running is not None and running.credit is not None:
            running.credit.grant(frame.chunks)

    def _input(self, frame: pb.Input) -> None:
        running = self.calls.running.get(frame.call_id)
        if running is not None:
            running.call.input.put(frame.value)

    def _input_end(self, frame: pb.InputEnd) -> None:
        running = self.calls.running.get(frame.call_id)
        if running is not None:
            running.call.input.end(frame.error_message)

    def _host_result(self, frame: pb.HostResult) -> None:
        reply = self.calls.reply(frame.host_call_id)
        if reply is not None:
            reply.result(frame.value)

    def _host_failure(self, frame: pb.HostFailure) -> None:
        reply = self.calls.reply(frame.host_call_id)
        if reply is not None:
            reply.failure(frame.code, frame.message)

    def _progress_taken(self, frame: pb.ProgressTaken) -> None:
        running = self.calls.running.get(frame.call_id)
        if running is not None and running.call._progress is not None:
            running.call._progress.taken()

    def _session_end(self, frame: pb.SessionEnd) -> None:
        ended = self._sessions.end(frame.session_id)
        if ended:
            self._runner.drop(ended)


def _compact_tools(tools: Mapping[str, Tool]) -> dict[bytes, Tool]:
    return {name.encode(): tool for name, tool in tools.items() if not tool.streams}
