"""The commonest answer, written without a codec (docs/bridge-protocol.md, section 3)."""

from __future__ import annotations

import struct
from time import perf_counter_ns

# The header of the framed transport: its kind of message, and the length of what
# follows. Then a `Result` as MessagePack: an array of 5, its kind, the number of the call,
# when that began, and how long it ran, about an hour at most, both in microseconds; and the
# length of the value, which follows. Each number is after the mark of its format.
_pack_head = struct.Struct(">BIHBIBIBIBI").pack
_FRAME = 0
_RESULT = 0x9501
_UINT_32 = 0xCE
_BIN_32 = 0xC6
HEADER_BYTES = 5
_HEAD_BYTES = 22
_MOST_US = (1 << 32) - 1


def pack_result(call_id: int, begun_us: int, ran_us: int, encoding: bytes) -> bytes:
    """Returns the frame with the result of a call that began at that time, on the clock
    of `perf_counter_ns`: all processes of the machine share it. It is preceded by the
    header of the framed transport, which another transport leaves out."""
    if ran_us > _MOST_US:  # noqa: PLR1730 - `min` takes longer than the rest
        ran_us = _MOST_US
    size = len(encoding)
    return (
        _pack_head(
            _FRAME,
            _HEAD_BYTES + size,
            _RESULT,
            _UINT_32,
            call_id,
            _UINT_32,
            begun_us & _MOST_US,
            _UINT_32,
            ran_us,
            _BIN_32,
            size,
        )
        + encoding
    )


def compact_result(call_id: int, begun_ns: int, encoding: bytes) -> bytes:
    """Returns the same for a call that ends now."""
    ran = (perf_counter_ns() - begun_ns) // 1000
    return pack_result(call_id, begun_ns // 1000, ran, encoding)


def ran_us(begun_ns: int) -> int:
    """Returns for how long a call has run that began at that time."""
    return min(_MOST_US, (perf_counter_ns() - begun_ns) // 1000)


def wrapped_us(begun_ns: int) -> int:
    """Returns a time on the clock of `perf_counter_ns` as a frame has it."""
    return begun_ns // 1000 & _MOST_US
