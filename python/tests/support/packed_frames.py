"""The host's side of frames as MessagePack, as the messages that gRPC has for them."""

from __future__ import annotations

from typing import Any

import msgpack

from snakepit_bridge import frames
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.grpc_transport.messages import host_frame, worker_message
from snakepit_bridge.calls.context.call import NOT_SAMPLED

HOST_FRAMES = {
    frames.Cancel: 2,
    frames.Credit: 3,
    frames.Input: 4,
    frames.InputEnd: 5,
    frames.HostResult: 6,
    frames.HostFailure: 7,
    frames.SessionEnd: 8,
    frames.ProgressCredit: 9,
}
WORKER_FRAMES: dict[int, type[Any]] = {
    1: frames.Result,
    2: frames.Chunk,
    3: frames.End,
    4: frames.Failure,
    5: frames.InputCredit,
    6: frames.HostCall,
    7: frames.HostCallCancel,
    8: frames.Log,
    9: frames.Progress,
    10: frames.Sources,
}


def packed_call(
    number: int,
    tool: str,
    arguments: bytes = b"",
    *,
    unrecorded: bool = False,
    **options: Any,
) -> bytes:
    """Returns a call in the layout that workers read without a decoder."""
    head = b"\x94" if not options else b"\x95"
    kind = b"\x0a" if unrecorded else b"\x01"
    parts = [head, kind, b"\xce", number.to_bytes(4, "big")]
    parts += [b"\xc6", len(arguments).to_bytes(4, "big"), arguments]
    parts.append(msgpack.packb(tool))
    if options:
        parts.append(msgpack.packb(options))
    return b"".join(parts)


def packed(message: pb.HostFrame) -> bytes:
    """Returns a frame of the host."""
    frame = host_frame(message)
    if isinstance(frame, frames.Call):
        options = {
            name: value
            for name, value in zip(frame.fields, frame.values(), strict=True)
            if value or (name == "stream_credit" and value is not None)
        }
        for name in ("call_id", "arguments", "tool"):
            options.pop(name, None)
        if frame.attachment is not None:
            options["attachment"] = frame.attachment.values()
        if "segments_gone" in options:
            options["segments_gone"] = list(frame.segments_gone)
        if frame.trace_context == {"traceparent": NOT_SAMPLED}:
            del options["trace_context"]
            options["unrecorded"] = True
        return packed_call(frame.call_id, frame.tool, frame.arguments, **options)
    # A kind that there is not.
    parts: list[Any] = [99]
    if frame is not None:
        parts = [HOST_FRAMES[type(frame)], *frame.values()]
    data: bytes = msgpack.packb(parts)
    return data


def parse_worker_frame(data: bytes) -> pb.WorkerFrame:
    """Returns a frame of the worker, in whichever form it came."""
    if not data or data[0] & 0xF0 != 0x90:
        return pb.WorkerFrame.FromString(data)
    return worker_message(worker_frame(data))


def worker_frame(data: bytes) -> Any:
    """Returns a frame of the worker that came as MessagePack."""
    kind, *values = msgpack.unpackb(data)
    record = WORKER_FRAMES[kind](*values)
    for name in ("attachment", "error"):
        if name in record.fields and getattr(record, name) is not None:
            make: Any = frames.Attachment if name == "attachment" else _error
            setattr(record, name, make(*getattr(record, name)))
    return record


def _error(*values: Any) -> frames.PythonError:
    error = frames.PythonError(*values)
    error.frames = [frames.StackFrame(*each) for each in values[4]]
    error.cause = None if values[5] is None else _error(*values[5])
    return error
