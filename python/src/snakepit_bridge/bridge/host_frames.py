"""Frames of the host, read from their bytes."""

from __future__ import annotations

import struct
from typing import TypeAlias

from google.protobuf.message import DecodeError

from snakepit_bridge._gen import bridge_pb2 as pb

__all__ = ["COMPACT", "CompactCall", "CompactFields", "parse_frame"]

# The first byte of a compact frame, which is not protobuf: there, no field has the
# number 0 (docs/bridge-protocol.md, section 3).
COMPACT = 0
# The number of the call, the length of the tool's name, which follows, and which
# fields come after that.
_HEAD = struct.Struct(">xIBB")
_HEAD_BYTES = _HEAD.size
_unpack_head = _HEAD.unpack_from
_TIMEOUT = 1
_SESSION = 2
_TRACEPARENT = 4
_MAY_HOLD = 8
_UNSIGNED = struct.Struct(">I")


# What a compact call has besides its arguments, None of what is left out: its time limit in
# milliseconds, session and traceparent, and whether the session may hold objects.
CompactFields: TypeAlias = tuple[int | None, str | None, str | None, bool]
CompactCall: TypeAlias = tuple[int, str, bytes, CompactFields | None]


def parse_frame(data: bytes) -> pb.HostFrame | CompactCall:
    """Returns a frame; of a compact call its number, tool and encoded arguments, and
    what else it has.

    Raises:
        DecodeError: it is neither.
    """
    if not data or data[0] != COMPACT:
        return pb.HostFrame.FromString(data)
    size = len(data)
    if size < _HEAD_BYTES:
        raise DecodeError(f"a compact call of {size} bytes, its head has {_HEAD_BYTES}")
    number, length, fields = _unpack_head(data)
    end = _HEAD_BYTES + length
    if size < end:
        raise DecodeError(
            f"a compact call of {size} bytes, its tool's name ends at {end}"
        )
    try:
        name = str(data[_HEAD_BYTES:end], "ascii")
        if not fields:
            return number, name, data[end:], None
        more, end = _parse_fields(data, end, fields)
    except UnicodeDecodeError:
        raise DecodeError("a compact call with text that is not ASCII") from None
    except (struct.error, IndexError):
        raise DecodeError(f"a compact call of {size} bytes, cut off") from None
    return number, name, data[end:], more


def _parse_fields(data: bytes, at: int, fields: int) -> tuple[CompactFields, int]:
    """Returns the fields, and where they end."""
    if fields > _TIMEOUT + _SESSION + _TRACEPARENT + _MAY_HOLD:
        raise DecodeError(f"a compact call with unknown fields: {fields}")
    timeout_ms = session = traceparent = None
    if fields & _TIMEOUT:
        (timeout_ms,) = _UNSIGNED.unpack_from(data, at)
        at += _UNSIGNED.size
    if fields & _SESSION:
        session, at = _text(data, at)
    if fields & _TRACEPARENT:
        traceparent, at = _text(data, at)
    return (timeout_ms, session, traceparent, bool(fields & _MAY_HOLD)), at


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = at + 1 + data[at]
    if end > len(data):
        raise IndexError
    return str(data[at + 1 : end], "ascii"), end
