"""The commonest answer, without protobuf (docs/bridge-protocol.md, section 3)."""

from __future__ import annotations

import struct
from time import perf_counter_ns

__all__ = ["compact_result", "ran_us"]

# Its mark, the number of the call, when that began, and how long it ran, about an hour
# at most, both in microseconds; the value follows.
_HEAD = struct.Struct(">xIII")
_MOST_US = (1 << 32) - 1


def compact_result(call_id: int, begun_ns: int, image: bytes) -> bytes:
    """Returns the frame with the result of a call that began at that time, on the clock
    of `perf_counter_ns`: all processes of the machine share it."""
    ran = (perf_counter_ns() - begun_ns) // 1000
    ran = min(ran, _MOST_US)
    return _HEAD.pack(call_id, begun_ns // 1000 & _MOST_US, ran) + image


def ran_us(begun_ns: int) -> int:
    """Returns for how long a call has run that began at that time."""
    return min(_MOST_US, (perf_counter_ns() - begun_ns) // 1000)
