"""The host's side of compact frames."""

from __future__ import annotations

import struct
from typing import Any

from snakepit_bridge._gen import bridge_pb2 as pb

__all__ = ["compact", "parse_worker_frame"]

CALL = struct.Struct(">xIB")
RESULT = struct.Struct(">xII")


def compact(call: pb.Call | None = None, **_: Any) -> bytes | None:
    """Returns the compact frame of a call that has nothing but its arguments."""
    if call is None or not call.tool.isascii() or len(call.tool) > 255:
        return None
    plain = pb.Call(call_id=call.call_id, tool=call.tool, arguments=call.arguments)
    if call != plain:
        return None
    head = CALL.pack(call.call_id, len(call.tool))
    return head + call.tool.encode() + call.arguments


def parse_worker_frame(data: bytes) -> pb.WorkerFrame:
    """Returns a frame; of a compact result what it stands for."""
    if data[:1] != b"\0":
        return pb.WorkerFrame.FromString(data)
    number, _ran_us = RESULT.unpack_from(data)
    result = pb.Result(call_id=number, value=data[RESULT.size :])
    return pb.WorkerFrame(result=result)
