"""The host's side of compact frames."""

from __future__ import annotations

import struct
from typing import Any

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.calls.context.call import NOT_SAMPLED

__all__ = ["compact", "parse_worker_frame"]

CALL = struct.Struct(">xIBB")
RESULT = struct.Struct(">xIII")


def compact(call: pb.Call | None = None, **_: Any) -> bytes | None:
    """Returns the compact frame of a call, if it can have one."""
    if call is None:
        return None
    plain = pb.Call(
        call_id=call.call_id,
        tool=call.tool,
        arguments=call.arguments,
        timeout_ms=call.timeout_ms,
        session_id=call.session_id,
        may_hold=call.may_hold,
    )
    traceparent = call.trace_context.get("traceparent", "")
    if traceparent:
        plain.trace_context["traceparent"] = traceparent
    texts = (call.tool, call.session_id, traceparent)
    if call != plain or any(not t.isascii() or len(t) > 255 for t in texts):
        return None
    fields = 8 if call.may_hold else 0
    if traceparent == NOT_SAMPLED:
        fields |= 16
        traceparent = ""
    more = b""
    if call.timeout_ms:
        fields |= 1
        more += struct.pack(">I", call.timeout_ms)
    for bit, text in ((2, call.session_id), (4, traceparent)):
        if text:
            fields |= bit
            more += bytes([len(text)]) + text.encode()
    head = CALL.pack(call.call_id, len(call.tool), fields)
    return head + call.tool.encode() + more + call.arguments


def parse_worker_frame(data: bytes) -> pb.WorkerFrame:
    """Returns a frame; of a compact result what it stands for."""
    if data[:1] != b"\0":
        return pb.WorkerFrame.FromString(data)
    number, _begun_us, _ran_us = RESULT.unpack_from(data)
    result = pb.Result(call_id=number, value=data[RESULT.size :])
    return pb.WorkerFrame(result=result)
