"""Acts on the frames that the host sends."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from snakepit_bridge import frames
from snakepit_bridge.bridge.call_intake import (
    CallIntake,
    IntakeTools,
    set_simple_options,
)
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.bridge.frame_codec import (
    Options,
    PackedCall,
    decode_frame,
    packed_call,
    packed_name,
)
from snakepit_bridge.bridge_log import logger
from snakepit_bridge.calls.context.call import NoHandles, Sessions
from snakepit_bridge.calls.run.runner import Runner
from snakepit_bridge.calls.run.running_call import RunningCall
from snakepit_bridge.failures.failure import CallRefused, refused
from snakepit_bridge.tools.tool import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from snakepit_bridge.calls.memory.segments import CallMemory
    from snakepit_bridge.frames import HostFrame


class Conversation:
    """The only conversation of this worker; one thread at a time uses it.

    Attributes:
        tools: the worker's tools, by name.
        calls: the calls under way.
        last_ping: when the last ping came, on the clock of `time.monotonic()`.
        take_calls: see `CallIntake.take`.
    """

    def __init__(
        self, tools: Mapping[str, Tool], calls: CallTable, runner: Runner
    ) -> None:
        self.calls = calls
        self.last_ping = time.monotonic()
        self._runner = runner
        # By packed name, those that a packed call can be of now, and of these those that
        # are read so, with what makes a call of it.
        self._packed_tools: dict[bytes, Tool] = {}
        self._intake_tools: IntakeTools = {}
        self._intake = CallIntake(calls, self._intake_tools)
        self.take_calls = self._intake.take
        self._set_tools(tools)
        self._sessions = Sessions()
        self._leaving = False
        self._on_frame: dict[type, Callable[[Any], None]] = {
            frames.Cancel: self._cancel,
            frames.Credit: self._credit,
            frames.Input: self._input,
            frames.InputEnd: self._input_end,
            frames.HostResult: self._host_result,
            frames.HostFailure: self._host_failure,
            frames.SessionEnd: self._session_end,
            frames.ProgressCredit: self._progress_credit,
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
        """Acts on a frame as MessagePack.

        Raises:
            Undecodable: it is none.
        """
        call = packed_call(data)
        if call is not None and self._packed_call(call):
            return
        frame = decode_frame(data)
        if isinstance(frame, frames.Call):
            # The answer may be packed as well.
            self._call(frame, is_compact=True)
        else:
            self.receive_frame(frame)

    def receive_frame(self, frame: HostFrame | None) -> None:
        """Acts on a frame; None is one of an unknown kind."""
        if isinstance(frame, frames.Call):
            self._call(frame, is_compact=False)
        elif frame is not None:
            self._on_frame[type(frame)](frame)
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
        self._packed_tools.clear()
        self._intake_tools.clear()

    def _set_tools(self, tools: Mapping[str, Tool]) -> None:
        self.tools = tools
        self._packed_tools.update(_packed_tools(tools))
        for name, tool in self._packed_tools.items():
            queue = self._runner.intake_queue_of(tool)
            if tool.is_usual and queue is not None:
                self._intake_tools[name] = (tool, self._runner.kind_of(tool))
                self._intake.begin(queue)

    def _packed_call(self, packed: PackedCall) -> bool:
        """Begins a usual call; returns False if it is to be refused as any call."""
        call_id, name, arguments, options = packed
        calls = self.calls
        tool = self._packed_tools.get(name)
        if tool is None or call_id in calls.running:
            return False
        running = self._runner.kind_of(tool).of(call_id, tool, arguments, calls)
        if options is not None:
            self._add(options, running)
        calls.running[call_id] = running
        self._runner.submit(running)
        return True

    def _call(self, frame: frames.Call, *, is_compact: bool) -> None:
        # Most calls are packed, so this is not loaded at the start.
        from snakepit_bridge.bridge.full_call import memory_of, running_call, tool_of

        calls = self.calls
        if frame.call_id in calls.running:
            logger(__name__).error("ignored a second call %d", frame.call_id)
            return
        memory: CallMemory | None = None
        try:
            memory = memory_of(frame, calls.shared_memory)
            if self._leaving:
                raise CallRefused(frames.FailureCode.LEAVING, "the worker is leaving")
            tool = tool_of(frame, self.tools)
            running = running_call(
                frame, tool, self._runner.kind_of(tool), memory, self._sessions, calls
            )
            running.is_compact = is_compact and memory is None
        except CallRefused as refusal:
            answer = refused(frame.call_id, refusal, began=False)
            if memory is not None and not isinstance(answer, bytes):
                memory.end(answer)
            calls.outbox.put_last(answer)
            return
        calls.running[frame.call_id] = running
        self._runner.submit(running)

    def _add(self, options: Options, running: RunningCall) -> None:
        # The tool's view of it is created on first use, if that is possible.
        set_simple_options(running, options)
        session = options.get("session_id")
        if session:
            running.in_session = True
            running.call.session = self._sessions.shared(session)
            if options.get("allows_handles"):
                running.call.handles = self._sessions.handles(session)

    def _cancel(self, frame: frames.Cancel) -> None:
        # Few calls are cancelled, and each import makes every start slower.
        from snakepit_bridge.calls.cancel.cancel_reason import CancelReason

        reasons = {
            "DEADLINE": CancelReason.DEADLINE,
            "SHUTDOWN": CancelReason.SHUTDOWN,
        }
        reason = reasons.get(frame.reason, CancelReason.CALLER)
        self.calls.cancel(frame.call_id, reason)

    def _credit(self, frame: frames.Credit) -> None:
        running = self.calls.running.get(frame.call_id)
        if running is not None and running.credit is not None:
            running.credit.grant(frame.chunks)

    def _input(self, frame: frames.Input) -> None:
        running = self.calls.running.get(frame.call_id)
        if running is not None:
            running.call.input.put(frame.value)

    def _input_end(self, frame: frames.InputEnd) -> None:
        running = self.calls.running.get(frame.call_id)
        if running is not None:
            running.call.input.end(frame.error_message)

    def _host_result(self, frame: frames.HostResult) -> None:
        reply = self.calls.reply(frame.host_call_id)
        if reply is not None:
            reply.result(frame.value)

    def _host_failure(self, frame: frames.HostFailure) -> None:
        reply = self.calls.reply(frame.host_call_id)
        if reply is not None:
            reply.failure(frame.code, frame.message)

    def _progress_credit(self, frame: frames.ProgressCredit) -> None:
        running = self.calls.running.get(frame.call_id)
        if running is not None and running.call._progress is not None:
            running.call._progress.taken()

    def _session_end(self, frame: frames.SessionEnd) -> None:
        ended = self._sessions.end(frame.session_id)
        if ended:
            self._runner.drop(ended)


def _packed_tools(tools: Mapping[str, Tool]) -> dict[bytes, Tool]:
    return {packed_name(name): tool for name, tool in tools.items() if not tool.streams}
