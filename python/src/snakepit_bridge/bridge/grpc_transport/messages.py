"""Frames as messages of snakepit/bridge/v1/bridge.proto, whose fields have the same names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from snakepit_bridge import frames
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.frames import HostFrame, Record, WorkerFrame

# The fields of a `WorkerFrame`.
_OF_WORKER: dict[type, str] = {
    frames.Result: "result",
    frames.Chunk: "chunk",
    frames.End: "end",
    frames.Failure: "failure",
    frames.InputCredit: "input_credit",
    frames.HostCall: "host_call",
    frames.HostCallCancel: "host_call_cancel",
    frames.Log: "log",
    frames.Progress: "progress",
    frames.Sources: "sources",
}
# The fields of a `HostFrame`, but for calls and cancels.
_OF_HOST: dict[str, type[Any]] = {
    "credit": frames.Credit,
    "input": frames.Input,
    "input_end": frames.InputEnd,
    "host_result": frames.HostResult,
    "host_failure": frames.HostFailure,
    "session_end": frames.SessionEnd,
    "progress_credit": frames.ProgressCredit,
}
# Fields of frames that the messages do not have.
_NOT_SENT = frozenset({"began_us"})


def worker_message(frame: WorkerFrame) -> pb.WorkerFrame:
    """Returns a frame of the worker as its message."""
    message = pb.WorkerFrame()
    # Filled in place: a message that is assigned to a field is copied.
    _fill(getattr(message, _OF_WORKER[type(frame)]), frame)
    return message


def description(tool: frames.ToolDescription) -> pb.Tool:
    """Returns the description of a tool as its message."""
    return pb.Tool(
        **{
            **dict(zip(tool.fields, tool.values(), strict=True)),
            "shape": pb.ToolShape.Value(f"TOOL_SHAPE_{tool.shape}"),
        }
    )


def host_frame(message: pb.HostFrame) -> HostFrame | None:
    """Returns a frame of the host; None for one of an unknown kind."""
    kind = message.WhichOneof("frame")
    if kind == "call":
        return _call(message.call)
    if kind == "cancel":
        reason = pb.CancelReason.Name(message.cancel.reason)
        return frames.Cancel(
            message.cancel.call_id, reason.removeprefix("CANCEL_REASON_")
        )
    if kind not in _OF_HOST:
        return None
    make = _OF_HOST[kind]
    content = getattr(message, kind)
    frame: HostFrame = make(*(getattr(content, name) for name in make.fields))
    return frame


def _call(call: pb.Call) -> frames.Call:
    attachment = call.attachment
    return frames.Call(
        call_id=call.call_id,
        arguments=call.arguments,
        tool=call.tool,
        timeout_ms=call.timeout_ms,
        session_id=call.session_id,
        trace_context=dict(call.trace_context),
        stream_credit=call.stream_credit if call.HasField("stream_credit") else None,
        stream_bytes=call.stream_bytes,
        has_input=call.has_input,
        attachment=(
            frames.Attachment(attachment.name, attachment.size, attachment.offset)
            if call.HasField("attachment")
            else None
        ),
        result_segment=call.result_segment,
        segments_gone=call.segments_gone,
        wants_progress=call.wants_progress,
        allows_handles=call.allows_handles,
    )


def _fill(message: Any, record: Record) -> None:
    """Sets the fields of a message to those of a record."""
    message.SetInParent()
    for name in record.fields:
        value = getattr(record, name)
        if value is None or name in _NOT_SENT:
            continue
        if name == "code":
            message.kind = pb.FailureKind.Value(f"FAILURE_KIND_{value}")
        elif isinstance(value, Record):
            _fill(getattr(message, name), value)
        elif isinstance(value, Mapping):
            getattr(message, name).update(value)
        elif isinstance(value, (list, tuple)):
            for item in value:
                if isinstance(item, Record):
                    _fill(getattr(message, name).add(), item)
                else:
                    getattr(message, name).append(item)
        else:
            setattr(message, name, value)
