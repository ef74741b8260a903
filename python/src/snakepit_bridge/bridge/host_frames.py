"""Frames of the host, read from their bytes."""

from __future__ import annotations

import struct
from typing import TypeAlias

from google.protobuf.message import DecodeError

from snakepit_bridge._gen import bridge_pb2 as pb

__all__ = ["COMPACT", "CompactCall", "parse_frame"]

# The first byte of a compact frame, which is not protobuf: there, no field has the
# number 0 (docs/bridge-protocol.md, section 3).
COMPACT = 0
# The number of the call, and the length of the tool's name, which follows.
_HEAD = struct.Struct(">xIB")

CompactCall: TypeAlias = tuple[int, str, bytes]


def parse_frame(data: bytes) -> pb.HostFrame | CompactCall:
    """Returns a frame; of a compact call its number, tool and encoded arguments.

    Raises:
        DecodeError: it is neither.
    """
    if not data or data[0] != COMPACT:
        return pb.HostFrame.FromString(data)
    size = len(data)
    begin = _HEAD.size
    if size < begin:
        raise DecodeError(f"a compact call of {size} bytes, its head has {begin}")
    number, length = _HEAD.unpack_from(data)
    end = begin + length
    if size < end:
        raise DecodeError(
            f"a compact call of {size} bytes, its tool's name ends at {end}"
        )
    try:
        return number, str(data[begin:end], "ascii"), data[end:]
    except UnicodeDecodeError:
        raise DecodeError("a compact call whose tool's name is not ASCII") from None
