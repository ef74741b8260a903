"""The commonest answer, and the plainest failure, without protobuf
(docs/bridge-protocol.md, section 3)."""

from __future__ import annotations

import struct
from time import perf_counter_ns

__all__ = [
    "HEADER_BYTES",
    "compact_result",
    "pack_result",
    "plain_failure",
    "ran_us",
    "varint",
]

# The header of the framed transport: its kind of message, and the length of what
# follows. Then the mark of a compact frame, the number of the call, when that began, and
# how long it ran, about an hour at most, both in microseconds; the value follows.
_pack_head = struct.Struct(">BIxIII").pack
_FRAME = 0
HEADER_BYTES = 5
_HEAD_BYTES = 13
_MOST_US = (1 << 32) - 1
_pack_header = struct.Struct(">BI").pack
# Fields of a `WorkerFrame` and of the `Failure` in it: number and kind of each.
_FAILURE = b"\x22"
_CALL_ID, _KIND, _MESSAGE, _BEGAN = b"\x08", b"\x10", b"\x1a", b"\x28\x01"


def pack_result(call_id: int, begun_us: int, ran_us: int, image: bytes) -> bytes:
    """Returns the frame with the result of a call that began at that time, on the clock
    of `perf_counter_ns`: all processes of the machine share it. It is preceded by the
    header of the framed transport, which another transport leaves out."""
    if ran_us > _MOST_US:  # noqa: PLR1730 - `min` takes longer than the rest
        ran_us = _MOST_US
    size = _HEAD_BYTES + len(image)
    return _pack_head(_FRAME, size, call_id, begun_us & _MOST_US, ran_us) + image


def compact_result(call_id: int, begun_ns: int, image: bytes) -> bytes:
    """Returns the same for a call that ends now."""
    ran = (perf_counter_ns() - begun_ns) // 1000
    return pack_result(call_id, begun_ns // 1000, ran, image)


def ran_us(begun_ns: int) -> int:
    """Returns for how long a call has run that began at that time."""
    return min(_MOST_US, (perf_counter_ns() - begun_ns) // 1000)


def plain_failure(call_id: int, kind: int, message: bytes, began: bool) -> bytes:
    """Returns the frame for a call that failed, with the header of the framed transport.

    Args:
        call_id: the number of the call.
        kind: a `FailureKind`.
        message: text in UTF-8.
        began: whether the tool may have begun.
    """
    body = b"".join(
        (
            _CALL_ID,
            varint(call_id),
            _KIND,
            varint(kind),
            _MESSAGE,
            varint(len(message)),
            message,
            _BEGAN if began else b"",
        )
    )
    frame = _FAILURE + varint(len(body)) + body
    return _pack_header(_FRAME, len(frame)) + frame


def varint(value: int) -> bytes:
    """Returns a number as protobuf writes it."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
