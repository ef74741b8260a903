"""Reads plain calls of the framed transport, many at once. While calls are sent ahead,
most frames are such calls. They are cut and read in one step, without the checks that
other frames need.
"""

from __future__ import annotations

import struct
import time

from snakepit_bridge.bridge.host_frames import (
    TIMEOUT,
    TRACEPARENT,
    UNRECORDED,
    parse_fields,
)
from snakepit_bridge.calls.context.call import NOT_SAMPLED
from snakepit_bridge.calls.run.plain_call import PlainCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque
    from typing import Protocol, TypeAlias

    from snakepit_bridge.bridge.call_table import CallTable
    from snakepit_bridge.calls.run.running_call import RunningCall
    from snakepit_bridge.tools.tool import Tool

    class PlainQueue(Protocol):
        """Where plain calls begin."""

        @property
        def waiting(self) -> deque[RunningCall]:
            """Those that have not begun."""

        def look(self) -> None:
            """Has them begin."""


__all__ = ["PlainIntake", "PlainTools"]

# By name, with what makes a call of it.
PlainTools: TypeAlias = "dict[bytes, tuple[Tool, type[PlainCall]]]"

# A message of the framed transport and the compact call in it, up to the tool's name:
# kind and length; mark, number, length of the name, fields.
_HEAD = struct.Struct(">BIBIBB")
_HEAD_BYTES = _HEAD.size
_unpack_head = _HEAD.unpack_from
# A call with others is one of a session, which is set up first.
_SIMPLE_FIELDS = TIMEOUT | TRACEPARENT | UNRECORDED
# The length in a message does not count these.
_BEFORE = 5


class PlainIntake:
    """Makes the plain calls of a conversation."""

    def __init__(self, calls: CallTable, tools: PlainTools) -> None:
        """Makes calls of `tools`, which may change."""
        self._calls = calls
        self._running = calls.running
        self._most_bytes = calls.max_message_bytes
        self._find = tools.get

    def begin(self, queue: PlainQueue) -> None:
        """Adds calls to a queue; before there is a tool."""
        self._append = queue.waiting.append
        self._look = queue.look

    def add(self, plain: PlainCall) -> None:
        """Adds one."""
        self._running[plain.number] = plain
        self._append(plain)
        self._look()

    def take(self, data: bytes) -> int:
        """Takes the plain calls at the beginning of what was read.

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
            kind, length, mark, number, name_bytes, fields = _unpack_head(data, at)
            name_at = at + _HEAD_BYTES
            arguments_at = name_at + name_bytes
            end = at + _BEFORE + length
            # Neither another message or frame, nor one that is cut off.
            if kind or mark or not arguments_at <= end <= size:
                break
            found = find(data[name_at:arguments_at])
            if found is None or number in running:
                break
            # What `PlainCall.of` does.
            tool, make = found
            plain = make()
            plain.number = number
            plain.tool = tool
            if fields == 0:
                pass
            elif fields == UNRECORDED:
                plain.traceparent = NOT_SAMPLED
            else:
                arguments_at = _take_fields(plain, data, arguments_at, fields)
                if not 0 < arguments_at <= end:
                    break
            plain.arguments = data[arguments_at:end]
            plain.sink = calls
            plain.is_wanted = True
            running[number] = plain
            self._append(plain)
            at = end
        if at:
            self._look()
        return at


def _take_fields(plain: PlainCall, data: bytes, at: int, fields: int) -> int:
    """Sets the fields that came with a call; returns where they end, or 0 if that is
    not possible.
    """
    if fields & ~_SIMPLE_FIELDS:
        return 0
    try:
        (timeout_ms, _, traceparent, _), at = parse_fields(data, at, fields)
    except (UnicodeDecodeError, IndexError, struct.error):
        # The code for other messages reports what is wrong with it.
        return 0
    if timeout_ms:
        plain.deadline = time.monotonic() + timeout_ms / 1000
    if traceparent:
        plain.traceparent = traceparent
    return at
