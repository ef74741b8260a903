"""The commonest answer, without protobuf (docs/bridge-protocol.md, section 3)."""

from __future__ import annotations

import struct
from time import perf_counter_ns

__all__ = ["HEADER_BYTES", "compact_result", "pack_result", "ran_us"]

# The header of the framed transport: its kind of message, and the length of what
# follows. Then the mark of a compact frame, the number of the call, when that began, and
# how long it ran, about an hour at most, both in microseconds; the value follows.
_pack_head = struct.Struct(">BIxIII").pack
_FRAME = 0
HEADER_BYTES = 5
_HEAD_BYTES = 13
_MOST_US = (1 << 32) - 1


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
