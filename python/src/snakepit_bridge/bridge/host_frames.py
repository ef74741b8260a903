"""Compact calls of the host, read from their bytes (docs/bridge-protocol.md, section 3)."""

from __future__ import annotations

import struct
import time

from snakepit_bridge.calls.context.call import NOT_SAMPLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = [
    "COMPACT",
    "TIMEOUT",
    "TRACEPARENT",
    "UNRECORDED",
    "CompactCall",
    "CompactFields",
    "Undecodable",
    "deadline",
    "parse_compact",
    "parse_fields",
    "tool_name",
]

# The first byte of a compact frame, which is not protobuf: there, no field has the
# number 0.
COMPACT = 0
# The number of the call, the length of the tool's name, which follows, and which
# fields come after that.
_HEAD = struct.Struct(">xIBB")
_HEAD_BYTES = _HEAD.size
_unpack_head = _HEAD.unpack_from
# Bits of the fields.
TIMEOUT = 1
_SESSION = 2
TRACEPARENT = 4
_MAY_HOLD = 8
# Instead of a traceparent: no trace of the call is recorded.
UNRECORDED = 16
_ALL_FIELDS = TIMEOUT | _SESSION | TRACEPARENT | _MAY_HOLD | UNRECORDED
_UNSIGNED = struct.Struct(">I")


# What a compact call has besides its arguments, None of what is left out: its time limit in
# milliseconds, session and traceparent, and whether the session may hold objects.
CompactFields: TypeAlias = "tuple[int | None, str | None, str | None, bool]"
# Its number, the bytes of its tool's name, its encoded arguments, and what else it has.
CompactCall: TypeAlias = "tuple[int, bytes, bytes, CompactFields | None]"


class Undecodable(Exception):
    """Bytes of the host that are not a message."""


def deadline(timeout_ms: int | None) -> float | None:
    """Returns the deadline of a call, on the clock of `time.monotonic()`; None if it
    has none.
    """
    return time.monotonic() + timeout_ms / 1000 if timeout_ms else None


def parse_compact(data: bytes) -> CompactCall:
    """Returns the parts of a compact frame, which begins with `COMPACT`.

    Raises:
        Undecodable: it is none.
    """
    try:
        number, length, fields = _unpack_head(data)
        end = _HEAD_BYTES + length
        name = data[_HEAD_BYTES:end]
        if len(name) < length:
            raise IndexError
        if not fields:
            return number, name, data[end:], None
        more, end = parse_fields(data, end, fields)
    except UnicodeDecodeError:
        raise Undecodable("a compact call with text that is not ASCII") from None
    except (struct.error, IndexError):
        raise Undecodable(f"a compact call of {len(data)} bytes, cut off") from None
    return number, name, data[end:], more


def tool_name(name: bytes) -> str:
    """Returns the name of a tool that there is not.

    Raises:
        Undecodable: it is no name.
    """
    try:
        return str(name, "ascii")
    except UnicodeDecodeError:
        raise Undecodable("a compact call with text that is not ASCII") from None


def parse_fields(data: bytes, at: int, fields: int) -> tuple[CompactFields, int]:
    """Returns the fields, and where they end.

    Raises:
        Undecodable: there are unknown ones.
        UnicodeDecodeError: a text is not ASCII.
        IndexError, struct.error: they are cut off.
    """
    if fields & ~_ALL_FIELDS:
        raise Undecodable(f"a compact call with unknown fields: {fields}")
    timeout_ms = session = None
    traceparent = NOT_SAMPLED if fields & UNRECORDED else None
    if fields & TIMEOUT:
        (timeout_ms,) = _UNSIGNED.unpack_from(data, at)
        at += _UNSIGNED.size
    if fields & _SESSION:
        session, at = _text(data, at)
    if fields & TRACEPARENT:
        traceparent, at = _text(data, at)
    return (timeout_ms, session, traceparent, bool(fields & _MAY_HOLD)), at


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = at + 1 + data[at]
    if end > len(data):
        raise IndexError
    return str(data[at + 1 : end], "ascii"), end
