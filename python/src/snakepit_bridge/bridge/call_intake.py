"""Reads calls of the framed transport, many in one step. While calls are prefetched,
most frames are such calls. They are cut and read without the checks that other frames
need.
"""

from __future__ import annotations

import struct
from time import monotonic

from snakepit_bridge.bridge.frame_codec import (
    CALL,
    CALL_WITH_OPTIONS,
    UNRECORDED_CALL,
    UNRECORDED_CALL_WITH_OPTIONS,
    deadline,
    packed_options,
    packed_traceparent,
    text_end,
)
from snakepit_bridge.calls.context.call import NOT_SAMPLED
from snakepit_bridge.calls.run.running_call import RunningCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque
    from typing import Any, Protocol, TypeAlias

    from snakepit_bridge.bridge.call_table import CallTable
    from snakepit_bridge.tools.tool import Tool

    class IntakeQueue(Protocol):
        """Where these calls begin."""

        @property
        def waiting(self) -> deque[RunningCall]:
            """Those that have not begun."""

        def look(self) -> None:
            """Has them begin."""


# By packed name, with what makes a call of it.
IntakeTools: TypeAlias = "dict[bytes, tuple[Tool, type[RunningCall]]]"

# A message of the framed transport and the call in it, up to its arguments: kind and
# length; the first bytes of the call; number and length, each after the mark of its format.
_HEAD = struct.Struct(">BIHBIBI")
_HEAD_BYTES = _HEAD.size
_unpack_head = _HEAD.unpack_from
_UINT_32 = 0xCE
_BIN_32 = 0xC6
# The length in a message does not count these.
_BEFORE = 5


class CallIntake:
    """Makes the calls of a conversation."""

    def __init__(self, calls: CallTable, tools: IntakeTools) -> None:
        """Makes calls of `tools`, which may change."""
        self._calls = calls
        self._running = calls.running
        self._most_bytes = calls.max_message_bytes
        self._find = tools.get

    def begin(self, queue: IntakeQueue) -> None:
        """Adds calls to a queue; before there is a tool."""
        self._append = queue.waiting.append
        self._look = queue.look

    def take(self, data: bytes) -> int:
        """Takes the calls at the beginning of what was read.

        Args:
            data: it, from the beginning of a message.

        Returns:
            Where the first other message begins, or one that is not whole.
        """
        size = len(data)
        if size > self._most_bytes:
            # One message may be too large: the code that cuts messages handles that.
            return 0
        calls, running, find = self._calls, self._running, self._find
        at = 0
        while at + _HEAD_BYTES <= size:
            kind, length, start, number_mark, number, size_mark, arguments_size = (
                _unpack_head(data, at)
            )
            arguments_at = at + _HEAD_BYTES
            name_at = arguments_at + arguments_size
            end = at + _BEFORE + length
            # Neither another message or frame, nor one that is cut off.
            if (
                kind
                or number_mark != _UINT_32
                or size_mark != _BIN_32
                or not name_at < end <= size
            ):
                break
            traceparent = options = None
            if start == CALL:
                entry = find(data[name_at:end])
            elif start == UNRECORDED_CALL:
                entry = find(data[name_at:end])
                traceparent = NOT_SAMPLED
            elif start in (CALL_WITH_OPTIONS, UNRECORDED_CALL_WITH_OPTIONS):
                mark = data[name_at]
                # Most names are short texts.
                name_end = (
                    name_at + 1 + (mark & 0x1F)
                    if mark & 0xE0 == 0xA0
                    else text_end(data, name_at)
                )
                if not 0 < name_end < end:
                    break
                entry = find(data[name_at:name_end])
                traceparent = packed_traceparent(data, name_end, end)
                if traceparent is None:
                    options = packed_options(data[name_end:end])
                    # A call of a session is set up by the code for other frames, which
                    # also reports what is wrong with one.
                    if options is None or "session_id" in options:
                        break
                if start != CALL_WITH_OPTIONS:
                    traceparent = NOT_SAMPLED
            else:
                break
            if entry is None or number in running:
                break
            # What `RunningCall.of` does.
            tool, make = entry
            call = make()
            call.number = number
            call.tool = tool
            call.arguments = data[arguments_at:name_at]
            call.sink = calls
            call.is_usual = True
            # What `set_simple_options` does.
            if traceparent is not None:
                call.traceparent = traceparent
            if options is not None:
                timeout_ms = options.get("timeout_ms")
                if timeout_ms:
                    call.deadline = monotonic() + timeout_ms / 1000
                if traceparent is None and "trace_context" in options:
                    call.traceparent = options["trace_context"]["traceparent"]
            running[number] = call
            self._append(call)
            at = end
        if at:
            self._look()
        return at


def set_simple_options(call: RunningCall, options: dict[str, Any]) -> None:
    """Sets what a call has besides its arguments, without its session."""
    if "timeout_ms" in options:
        call.deadline = deadline(options["timeout_ms"])
    if options.get("unrecorded"):
        call.traceparent = NOT_SAMPLED
    elif "trace_context" in options:
        call.traceparent = options["trace_context"]["traceparent"]
