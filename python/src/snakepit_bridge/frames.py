"""The frames between a host and a worker, as plain records (docs/bridge-protocol.md, section 3).

A transport writes and reads them: the framed one as MessagePack, gRPC as protobuf, whose
messages have fields of the same names. Fields are in the order of MessagePack's arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass as _record
    from typing import Any, TypeAlias
else:

    def _record(kind: type) -> type:
        """Does without `dataclasses`, which takes as long to import as all of the bridge."""
        kind.fields = tuple(kind.__annotations__)
        return kind


class Undecodable(Exception):
    """Bytes of the host that are not a frame."""


class FailureCode:
    """Why a call failed."""

    # The tool raised; `error` tells what.
    TOOL_FAILED = "TOOL_FAILED"
    TOOL_NOT_FOUND = "TOOL_NOT_FOUND"
    INVALID_ARGUMENTS = "INVALID_ARGUMENTS"
    # A value (argument, result or chunk) cannot be encoded or decoded.
    VALUE_NOT_TRANSFERABLE = "VALUE_NOT_TRANSFERABLE"
    RESULT_TOO_LARGE = "RESULT_TOO_LARGE"
    # The call ended because of a Cancel frame or of its deadline.
    CANCELLED = "CANCELLED"
    # A tool that streams was called for one result, or the reverse.
    WRONG_SHAPE = "WRONG_SHAPE"
    # The worker refuses new calls: it is leaving.
    LEAVING = "LEAVING"
    # The host recalled the call before it began.
    RECALLED = "RECALLED"
    # A handle among the arguments is not one of this session.
    HANDLE_INVALID = "HANDLE_INVALID"
    # No handle can be given, or it does not offer what is asked of it.
    HANDLE_REFUSED = "HANDLE_REFUSED"


class Record:
    """A record whose fields are the annotations of its class, and its defaults their
    values.

    Attributes:
        fields: the names, in order.
    """

    fields: Sequence[str] = ()

    if not TYPE_CHECKING:

        def __init__(self, *values: Any, **named: Any) -> None:
            own = self.__dict__
            own.update(zip(self.fields, values, strict=False))
            own.update(named)

        def __eq__(self, other: object) -> bool:
            return type(self) is type(other) and self.values() == other.values()

        def __repr__(self) -> str:
            parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.fields)
            return f"{type(self).__name__}({parts})"

    def values(self) -> list[Any]:
        """Returns the values of its fields, in order."""
        return [getattr(self, name) for name in self.fields]


@_record
class Attachment(Record):
    """A file in shared memory that holds the large parts of one value (extension 9 of
    docs/values.md). Its receiver removes it as soon as it is open.

    Attributes:
        name: in the directory that the launch message names.
        size: how many bytes there are.
        offset: where they begin, in a file that the chunks of a stream share.
    """

    name: str
    size: int
    offset: int = 0


# ------------------------------------------------------------------- of the host


@_record
class Call(Record):
    """Begins a call. Exactly one Result, End or Failure answers it.

    Attributes:
        call_id: its number.
        arguments: an encoded map of keyword arguments, or list of positional ones; empty
            for none.
        tool: the name of a tool.
        timeout_ms: what is left of the deadline; 0: there is none.
        session_id: empty: no session.
        trace_context: W3C trace context and baggage, and nothing else.
        stream_credit: how many chunks may be out; None for a call with one result.
        stream_bytes: more may be out while all have fewer bytes than this.
        has_input: whether an input stream follows.
        attachment: the large parts of the arguments.
        result_segment: a segment for the large parts of the result; empty: none.
        segments_gone: segments that the host has closed.
        wants_progress: whether reports of progress are wanted.
        allows_handles: whether calls of this session may hold objects in this worker.
        unrecorded: no trace of this call is recorded.
    """

    call_id: int
    arguments: bytes
    tool: str
    timeout_ms: int = 0
    session_id: str = ""
    trace_context: Mapping[str, str] | None = None
    stream_credit: int | None = None
    stream_bytes: int = 0
    has_input: bool = False
    attachment: Attachment | None = None
    result_segment: str = ""
    segments_gone: Sequence[str] = ()
    wants_progress: bool = False
    allows_handles: bool = False
    unrecorded: bool = False


@_record
class Cancel(Record):
    """Asks to end a call.

    Attributes:
        call_id: its number.
        reason: `CALLER`, `DEADLINE` or `SHUTDOWN`.
    """

    call_id: int
    reason: str


@_record
class Credit(Record):
    """The host took so many chunks of a stream: as many more may be sent."""

    call_id: int
    chunks: int


@_record
class Input(Record):
    """One item of a call's input stream."""

    call_id: int
    value: bytes


@_record
class InputEnd(Record):
    """The input ended; with a message where the host's iterable raised."""

    call_id: int
    error_message: str = ""


@_record
class HostResult(Record):
    """What a function of the host returned."""

    host_call_id: int
    value: bytes


@_record
class HostFailure(Record):
    """A function of the host failed."""

    host_call_id: int
    code: str
    message: str


@_record
class SessionEnd(Record):
    """The session is over: its dictionary is dropped."""

    session_id: str


@_record
class ProgressCredit(Record):
    """The host wants another report of progress."""

    call_id: int


# ----------------------------------------------------------------- of the worker


@_record
class Result(Record):
    """The result of a call.

    Attributes:
        call_id: that of the call.
        began_us: when it began, in microseconds of the machine's monotonic clock, modulo
            2^32.
        ran_us: how long it ran, with the decoding of its arguments.
        value: the encoded result.
        attachment: its large parts.
        arguments_free: nothing in the worker refers to the segment of the arguments.
    """

    call_id: int
    began_us: int
    ran_us: int
    value: bytes
    attachment: Attachment | None = None
    arguments_free: bool = False


@_record
class Chunk(Record):
    """One item of a call's output stream; sent only within the host's credit."""

    call_id: int
    value: bytes
    attachment: Attachment | None = None

    if not TYPE_CHECKING:
        # Streams have many: this takes a third of the time of that of all records.
        def __init__(self, call_id, value, attachment=None) -> None:
            self.call_id = call_id
            self.value = value
            self.attachment = attachment


@_record
class End(Record):
    """The output stream ended well.

    Attributes:
        call_id: that of the call.
        value: what the tool returned after the last chunk; empty: None.
        attachment: the large parts of the value.
        arguments_free: as in `Result`.
    """

    call_id: int
    value: bytes = b""
    attachment: Attachment | None = None
    arguments_free: bool = False


@_record
class StackFrame(Record):
    """One line of a traceback."""

    file: str
    line: int
    function: str


@_record
class PythonError(Record):
    """An exception.

    Attributes:
        type: `module.QualifiedName`, without the module for builtins.
        message: its text.
        traceback: as Python prints it.
        notes: those that were added to it.
        frames: where it was raised.
        cause: `__cause__`, or `__context__` where that is not suppressed.
    """

    type: str
    message: str
    traceback: str
    notes: Sequence[str]
    frames: Sequence[StackFrame]
    cause: PythonError | None = None


@_record
class Failure(Record):
    """The call failed.

    Attributes:
        call_id: that of the call.
        code: one of `FailureCode`.
        message: what happened.
        began: whether user code may have begun.
        path: for invalid arguments and values: where, as `$.images[3]`.
        arguments_free: as in `Result`.
        error: the exception of the tool.
    """

    call_id: int
    code: str
    message: str
    began: bool = False
    path: str = ""
    arguments_free: bool = False
    error: PythonError | None = None


@_record
class InputCredit(Record):
    """The tool has read so many items of the input: as many more may be sent."""

    call_id: int
    chunks: int


@_record
class HostCall(Record):
    """A tool calls a function that the host registered.

    Attributes:
        host_call_id: its number.
        call_id: the call that the tool runs.
        function: its name.
        argument: the encoded argument.
        trace_context: W3C trace context and baggage of the tool, and nothing else.
    """

    host_call_id: int
    call_id: int
    function: str
    argument: bytes
    trace_context: Mapping[str, str]


@_record
class HostCallCancel(Record):
    """Nothing waits for this host call any more."""

    host_call_id: int


@_record
class Log(Record):
    """One record of Python's `logging`.

    Attributes:
        call_id: 0 when it belongs to no call.
        logger: the name of the logger.
        level: Python's numeric level.
        message: its text.
        time_us: microseconds since the Unix epoch.
        traceback: that of its exception, and the stack that was asked for.
        trace_id: that of the current span, or the caller's.
        span_id: likewise.
        handled: whether the worker has printed it, or a handler of the tools takes it.
    """

    call_id: int
    logger: str
    level: int
    message: str
    time_us: int
    traceback: str = ""
    trace_id: str = ""
    span_id: str = ""
    handled: bool = False


@_record
class Progress(Record):
    """How far a call is; the next report is sent after a `ProgressCredit`.

    Attributes:
        call_id: that of the call.
        fraction: from 0 to 1; None where the tool cannot say.
        message: what the tool says.
    """

    call_id: int
    fraction: float | None
    message: str


@_record
class Sources(Record):
    """Source files that modules of this worker were loaded from.

    Attributes:
        files: absolute paths.
        since_us: each was loaded after this moment, in microseconds since the Unix epoch.
    """

    files: Sequence[str]
    since_us: int


@_record
class ToolDescription(Record):
    """One of the worker's tools, for the answer to `Describe`.

    Attributes:
        name: that of the tool.
        description: its docstring.
        shape: `UNARY` for one result, `STREAM` for chunks.
        reads_input: whether it reads an input stream.
        arguments_schema_json: JSON Schema 2020-12.
        result_schema_json: the same of the result, or of a chunk.
        batch_max: how many calls its function takes at a time; None where each call is by
            itself.
    """

    name: str
    description: str
    shape: str
    reads_input: bool
    arguments_schema_json: str
    result_schema_json: str
    batch_max: int | None = None


HostFrame: TypeAlias = (
    "Call | Cancel | Credit | Input | InputEnd | HostResult | HostFailure | SessionEnd "
    "| ProgressCredit"
)
WorkerFrame: TypeAlias = (
    "Result | Chunk | End | Failure | InputCredit | HostCall | HostCallCancel | Log "
    "| Progress | Sources"
)
