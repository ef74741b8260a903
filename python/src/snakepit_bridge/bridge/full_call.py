"""The calls of the host that are not the usual ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from snakepit_bridge import frames
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.bridge.frame_codec import deadline
from snakepit_bridge.calls.cancel.cancellation import Cancellation
from snakepit_bridge.calls.context.call import (
    NOT_SAMPLED,
    Sessions,
    caller_headers,
)
from snakepit_bridge.calls.run.running_call import RunningCall
from snakepit_bridge.failures.failure import CallRefused, not_transferable
from snakepit_bridge.frames import FailureCode
from snakepit_bridge.tools.binding import did_you_mean
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.values.value_not_transferable import ValueNotTransferable

if TYPE_CHECKING:
    from snakepit_bridge.calls.context.input_stream import InputStream
    from snakepit_bridge.calls.context.progress_reports import ProgressReports
    from snakepit_bridge.calls.memory.segments import CallMemory
    from snakepit_bridge.calls.memory.shared_memory import SharedMemory
    from snakepit_bridge.calls.run.credit import Credit


def memory_of(frame: frames.Call, shared: SharedMemory | None) -> CallMemory | None:
    """Returns the call's part of the shared memory, if there is any. Also for a call
    that is then refused: from here on, its segments are known.

    Raises:
        CallRefused: it names memory that is not there.
    """
    if shared is None and frame.attachment is None:
        return None
    from snakepit_bridge.calls.memory.shared_memory import AttachmentInvalid

    try:
        if shared is not None:
            return shared.call(frame)
        raise AttachmentInvalid("an attachment came, and none was agreed")
    except AttachmentInvalid as error:
        raise not_transferable(
            "arguments", ValueNotTransferable("$", str(error))
        ) from None


def tool_of(frame: frames.Call, tools: Mapping[str, Tool]) -> Tool:
    """Returns what a call is of.

    Raises:
        CallRefused: there is no such tool, or it is none of this shape.
    """
    tool = tools.get(frame.tool)
    if tool is None:
        raise _not_found(frame.tool, tools)
    streams = frame.stream_credit is not None
    is_other = streams != tool.streams and not tool.is_open
    if is_other or (frame.has_input and tool.input is None):
        raise _wrong_shape(tool, streams)
    return tool


def _not_found(name: str, tools: Mapping[str, Tool]) -> CallRefused:
    """Returns the refusal of a call of a tool that does not exist."""
    hint = did_you_mean(name, tools)
    if name.startswith(Tool.RESERVED):
        message = (
            f"the host does not allow {name!r}; give the adapter the option handles"
        )
        return CallRefused(FailureCode.HANDLE_REFUSED, message)
    known = ", ".join(sorted(tools))
    if len(known) > 1000:
        known = f"{known[:1000]}…"
    message = f"there is no tool {name!r}{hint} (tools: {known})"
    return CallRefused(FailureCode.TOOL_NOT_FOUND, message)


def _wrong_shape(tool: Tool, streams: bool) -> CallRefused:
    """Returns the refusal of a call that asks for chunks, one result or input, if the
    tool does not have that.
    """
    if tool.streams and not streams:
        problem = "answers with a stream of chunks; call it with stream()"
    elif streams and not tool.streams:
        problem = "answers with one result; call it with execute()"
    else:
        problem = "reads no input stream; declare it as @tool(input=...)"
    message = f"the tool {tool.name!r} {problem}"
    return CallRefused(FailureCode.WRONG_SHAPE, message)


def running_call(
    frame: frames.Call,
    tool: Tool,
    kind: type[RunningCall],
    memory: CallMemory | None,
    sessions: Sessions,
    calls: CallTable,
) -> RunningCall:
    """Returns the call, which has not begun."""
    running = kind.of(frame.call_id, tool, frame.arguments, calls)
    credit = (
        _credit_of(frame.stream_credit, frame.stream_bytes)
        if frame.stream_credit is not None
        else None
    )
    call = running.expand(memory, credit)
    call.session = sessions.shared(frame.session_id)
    if frame.allows_handles:
        call.handles = sessions.handles(frame.session_id)
    call.deadline = deadline(frame.timeout_ms)
    if frame.unrecorded:
        call.trace_context = caller_headers(NOT_SAMPLED)
    elif frame.trace_context is not None:
        call.trace_context = frame.trace_context
    if frame.has_input:
        call._input = _input_stream(frame, tool, running.cancellation, calls)
    if frame.wants_progress:
        call._progress = _progress(frame, calls)
    return running


# Few workers need the modules that these load.


def _credit_of(chunks: int, small_bytes: int) -> Credit:
    from snakepit_bridge.calls.run.credit import Credit

    return Credit(chunks, small_bytes)


def _progress(frame: frames.Call, calls: CallTable) -> ProgressReports:
    from snakepit_bridge.calls.context.progress_reports import ProgressReports

    return ProgressReports(frame.call_id, calls.send)


def _input_stream(
    frame: frames.Call, tool: Tool, cancellation: Cancellation, calls: CallTable
) -> InputStream:
    from snakepit_bridge.calls.context.input_stream import INPUT_WINDOW, InputStream

    call_id = frame.call_id

    def grant(items: int) -> None:
        calls.send(frames.InputCredit(call_id, items))

    grant(INPUT_WINDOW)
    return InputStream(cancellation, tool.input, grant)
