from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CancelReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CANCEL_REASON_UNSPECIFIED: _ClassVar[CancelReason]
    CANCEL_REASON_CALLER: _ClassVar[CancelReason]
    CANCEL_REASON_DEADLINE: _ClassVar[CancelReason]
    CANCEL_REASON_SHUTDOWN: _ClassVar[CancelReason]

class FailureKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FAILURE_KIND_UNSPECIFIED: _ClassVar[FailureKind]
    FAILURE_KIND_TOOL_FAILED: _ClassVar[FailureKind]
    FAILURE_KIND_TOOL_NOT_FOUND: _ClassVar[FailureKind]
    FAILURE_KIND_INVALID_ARGUMENTS: _ClassVar[FailureKind]
    FAILURE_KIND_VALUE_NOT_TRANSFERABLE: _ClassVar[FailureKind]
    FAILURE_KIND_RESULT_TOO_LARGE: _ClassVar[FailureKind]
    FAILURE_KIND_CANCELLED: _ClassVar[FailureKind]
    FAILURE_KIND_WRONG_SHAPE: _ClassVar[FailureKind]
    FAILURE_KIND_LEAVING: _ClassVar[FailureKind]
    FAILURE_KIND_RECALLED: _ClassVar[FailureKind]
    FAILURE_KIND_HANDLE_INVALID: _ClassVar[FailureKind]
    FAILURE_KIND_HANDLE_REFUSED: _ClassVar[FailureKind]

class ToolShape(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOOL_SHAPE_UNSPECIFIED: _ClassVar[ToolShape]
    TOOL_SHAPE_UNARY: _ClassVar[ToolShape]
    TOOL_SHAPE_STREAM: _ClassVar[ToolShape]
CANCEL_REASON_UNSPECIFIED: CancelReason
CANCEL_REASON_CALLER: CancelReason
CANCEL_REASON_DEADLINE: CancelReason
CANCEL_REASON_SHUTDOWN: CancelReason
FAILURE_KIND_UNSPECIFIED: FailureKind
FAILURE_KIND_TOOL_FAILED: FailureKind
FAILURE_KIND_TOOL_NOT_FOUND: FailureKind
FAILURE_KIND_INVALID_ARGUMENTS: FailureKind
FAILURE_KIND_VALUE_NOT_TRANSFERABLE: FailureKind
FAILURE_KIND_RESULT_TOO_LARGE: FailureKind
FAILURE_KIND_CANCELLED: FailureKind
FAILURE_KIND_WRONG_SHAPE: FailureKind
FAILURE_KIND_LEAVING: FailureKind
FAILURE_KIND_RECALLED: FailureKind
FAILURE_KIND_HANDLE_INVALID: FailureKind
FAILURE_KIND_HANDLE_REFUSED: FailureKind
TOOL_SHAPE_UNSPECIFIED: ToolShape
TOOL_SHAPE_UNARY: ToolShape
TOOL_SHAPE_STREAM: ToolShape

class HostFrame(_message.Message):
    __slots__ = ("call", "cancel", "credit", "input", "input_end", "host_result", "host_failure", "session_end", "ping", "batch", "progress_credit")
    CALL_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    INPUT_END_FIELD_NUMBER: _ClassVar[int]
    HOST_RESULT_FIELD_NUMBER: _ClassVar[int]
    HOST_FAILURE_FIELD_NUMBER: _ClassVar[int]
    SESSION_END_FIELD_NUMBER: _ClassVar[int]
    PING_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_CREDIT_FIELD_NUMBER: _ClassVar[int]
    call: Call
    cancel: Cancel
    credit: Credit
    input: Input
    input_end: InputEnd
    host_result: HostResult
    host_failure: HostFailure
    session_end: SessionEnd
    ping: PingRequest
    batch: HostFrames
    progress_credit: ProgressCredit
    def __init__(self, call: _Optional[_Union[Call, _Mapping]] = ..., cancel: _Optional[_Union[Cancel, _Mapping]] = ..., credit: _Optional[_Union[Credit, _Mapping]] = ..., input: _Optional[_Union[Input, _Mapping]] = ..., input_end: _Optional[_Union[InputEnd, _Mapping]] = ..., host_result: _Optional[_Union[HostResult, _Mapping]] = ..., host_failure: _Optional[_Union[HostFailure, _Mapping]] = ..., session_end: _Optional[_Union[SessionEnd, _Mapping]] = ..., ping: _Optional[_Union[PingRequest, _Mapping]] = ..., batch: _Optional[_Union[HostFrames, _Mapping]] = ..., progress_credit: _Optional[_Union[ProgressCredit, _Mapping]] = ...) -> None: ...

class HostFrames(_message.Message):
    __slots__ = ("frames",)
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    frames: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, frames: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Attachment(_message.Message):
    __slots__ = ("name", "size", "offset")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    name: str
    size: int
    offset: int
    def __init__(self, name: _Optional[str] = ..., size: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class Call(_message.Message):
    __slots__ = ("call_id", "tool", "arguments", "timeout_ms", "session_id", "trace_context", "stream_credit", "has_input", "attachment", "stream_bytes", "result_segment", "segments_gone", "wants_progress", "allows_handles")
    class TraceContextEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TRACE_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    STREAM_CREDIT_FIELD_NUMBER: _ClassVar[int]
    HAS_INPUT_FIELD_NUMBER: _ClassVar[int]
    ATTACHMENT_FIELD_NUMBER: _ClassVar[int]
    STREAM_BYTES_FIELD_NUMBER: _ClassVar[int]
    RESULT_SEGMENT_FIELD_NUMBER: _ClassVar[int]
    SEGMENTS_GONE_FIELD_NUMBER: _ClassVar[int]
    WANTS_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    ALLOWS_HANDLES_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    tool: str
    arguments: bytes
    timeout_ms: int
    session_id: str
    trace_context: _containers.ScalarMap[str, str]
    stream_credit: int
    has_input: bool
    attachment: Attachment
    stream_bytes: int
    result_segment: str
    segments_gone: _containers.RepeatedScalarFieldContainer[str]
    wants_progress: bool
    allows_handles: bool
    def __init__(self, call_id: _Optional[int] = ..., tool: _Optional[str] = ..., arguments: _Optional[bytes] = ..., timeout_ms: _Optional[int] = ..., session_id: _Optional[str] = ..., trace_context: _Optional[_Mapping[str, str]] = ..., stream_credit: _Optional[int] = ..., has_input: bool = ..., attachment: _Optional[_Union[Attachment, _Mapping]] = ..., stream_bytes: _Optional[int] = ..., result_segment: _Optional[str] = ..., segments_gone: _Optional[_Iterable[str]] = ..., wants_progress: bool = ..., allows_handles: bool = ...) -> None: ...

class Cancel(_message.Message):
    __slots__ = ("call_id", "reason")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    reason: CancelReason
    def __init__(self, call_id: _Optional[int] = ..., reason: _Optional[_Union[CancelReason, str]] = ...) -> None: ...

class Credit(_message.Message):
    __slots__ = ("call_id", "chunks")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    chunks: int
    def __init__(self, call_id: _Optional[int] = ..., chunks: _Optional[int] = ...) -> None: ...

class Input(_message.Message):
    __slots__ = ("call_id", "value")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    value: bytes
    def __init__(self, call_id: _Optional[int] = ..., value: _Optional[bytes] = ...) -> None: ...

class InputEnd(_message.Message):
    __slots__ = ("call_id", "error_message")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    error_message: str
    def __init__(self, call_id: _Optional[int] = ..., error_message: _Optional[str] = ...) -> None: ...

class HostResult(_message.Message):
    __slots__ = ("host_call_id", "value")
    HOST_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    host_call_id: int
    value: bytes
    def __init__(self, host_call_id: _Optional[int] = ..., value: _Optional[bytes] = ...) -> None: ...

class HostFailure(_message.Message):
    __slots__ = ("host_call_id", "code", "message")
    HOST_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    host_call_id: int
    code: str
    message: str
    def __init__(self, host_call_id: _Optional[int] = ..., code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class ProgressCredit(_message.Message):
    __slots__ = ("call_id",)
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    def __init__(self, call_id: _Optional[int] = ...) -> None: ...

class SessionEnd(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class WorkerFrame(_message.Message):
    __slots__ = ("result", "chunk", "end", "failure", "input_credit", "host_call", "host_call_cancel", "log", "ping", "batch", "progress", "sources")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    INPUT_CREDIT_FIELD_NUMBER: _ClassVar[int]
    HOST_CALL_FIELD_NUMBER: _ClassVar[int]
    HOST_CALL_CANCEL_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    PING_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    result: Result
    chunk: Chunk
    end: End
    failure: Failure
    input_credit: Credit
    host_call: HostCall
    host_call_cancel: HostCallCancel
    log: Log
    ping: PingResponse
    batch: WorkerFrames
    progress: Progress
    sources: Sources
    def __init__(self, result: _Optional[_Union[Result, _Mapping]] = ..., chunk: _Optional[_Union[Chunk, _Mapping]] = ..., end: _Optional[_Union[End, _Mapping]] = ..., failure: _Optional[_Union[Failure, _Mapping]] = ..., input_credit: _Optional[_Union[Credit, _Mapping]] = ..., host_call: _Optional[_Union[HostCall, _Mapping]] = ..., host_call_cancel: _Optional[_Union[HostCallCancel, _Mapping]] = ..., log: _Optional[_Union[Log, _Mapping]] = ..., ping: _Optional[_Union[PingResponse, _Mapping]] = ..., batch: _Optional[_Union[WorkerFrames, _Mapping]] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ..., sources: _Optional[_Union[Sources, _Mapping]] = ...) -> None: ...

class WorkerFrames(_message.Message):
    __slots__ = ("frames",)
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    frames: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, frames: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Result(_message.Message):
    __slots__ = ("call_id", "value", "attachment", "arguments_free", "ran_us")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ATTACHMENT_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FREE_FIELD_NUMBER: _ClassVar[int]
    RAN_US_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    value: bytes
    attachment: Attachment
    arguments_free: bool
    ran_us: int
    def __init__(self, call_id: _Optional[int] = ..., value: _Optional[bytes] = ..., attachment: _Optional[_Union[Attachment, _Mapping]] = ..., arguments_free: bool = ..., ran_us: _Optional[int] = ...) -> None: ...

class Chunk(_message.Message):
    __slots__ = ("call_id", "value", "attachment")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ATTACHMENT_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    value: bytes
    attachment: Attachment
    def __init__(self, call_id: _Optional[int] = ..., value: _Optional[bytes] = ..., attachment: _Optional[_Union[Attachment, _Mapping]] = ...) -> None: ...

class End(_message.Message):
    __slots__ = ("call_id", "arguments_free", "value", "attachment")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FREE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ATTACHMENT_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    arguments_free: bool
    value: bytes
    attachment: Attachment
    def __init__(self, call_id: _Optional[int] = ..., arguments_free: bool = ..., value: _Optional[bytes] = ..., attachment: _Optional[_Union[Attachment, _Mapping]] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("call_id", "fraction", "message")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    FRACTION_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    fraction: float
    message: str
    def __init__(self, call_id: _Optional[int] = ..., fraction: _Optional[float] = ..., message: _Optional[str] = ...) -> None: ...

class Failure(_message.Message):
    __slots__ = ("call_id", "kind", "message", "error", "began", "path", "arguments_free")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    BEGAN_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FREE_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    kind: FailureKind
    message: str
    error: PythonError
    began: bool
    path: str
    arguments_free: bool
    def __init__(self, call_id: _Optional[int] = ..., kind: _Optional[_Union[FailureKind, str]] = ..., message: _Optional[str] = ..., error: _Optional[_Union[PythonError, _Mapping]] = ..., began: bool = ..., path: _Optional[str] = ..., arguments_free: bool = ...) -> None: ...

class PythonError(_message.Message):
    __slots__ = ("type", "message", "traceback", "notes", "frames", "cause")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    TRACEBACK_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    type: str
    message: str
    traceback: str
    notes: _containers.RepeatedScalarFieldContainer[str]
    frames: _containers.RepeatedCompositeFieldContainer[StackFrame]
    cause: PythonError
    def __init__(self, type: _Optional[str] = ..., message: _Optional[str] = ..., traceback: _Optional[str] = ..., notes: _Optional[_Iterable[str]] = ..., frames: _Optional[_Iterable[_Union[StackFrame, _Mapping]]] = ..., cause: _Optional[_Union[PythonError, _Mapping]] = ...) -> None: ...

class StackFrame(_message.Message):
    __slots__ = ("file", "line", "function")
    FILE_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    FUNCTION_FIELD_NUMBER: _ClassVar[int]
    file: str
    line: int
    function: str
    def __init__(self, file: _Optional[str] = ..., line: _Optional[int] = ..., function: _Optional[str] = ...) -> None: ...

class HostCall(_message.Message):
    __slots__ = ("host_call_id", "call_id", "function", "argument", "trace_context")
    class TraceContextEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    HOST_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    FUNCTION_FIELD_NUMBER: _ClassVar[int]
    ARGUMENT_FIELD_NUMBER: _ClassVar[int]
    TRACE_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    host_call_id: int
    call_id: int
    function: str
    argument: bytes
    trace_context: _containers.ScalarMap[str, str]
    def __init__(self, host_call_id: _Optional[int] = ..., call_id: _Optional[int] = ..., function: _Optional[str] = ..., argument: _Optional[bytes] = ..., trace_context: _Optional[_Mapping[str, str]] = ...) -> None: ...

class HostCallCancel(_message.Message):
    __slots__ = ("host_call_id",)
    HOST_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    host_call_id: int
    def __init__(self, host_call_id: _Optional[int] = ...) -> None: ...

class Sources(_message.Message):
    __slots__ = ("files", "since_us")
    FILES_FIELD_NUMBER: _ClassVar[int]
    SINCE_US_FIELD_NUMBER: _ClassVar[int]
    files: _containers.RepeatedScalarFieldContainer[str]
    since_us: int
    def __init__(self, files: _Optional[_Iterable[str]] = ..., since_us: _Optional[int] = ...) -> None: ...

class Log(_message.Message):
    __slots__ = ("call_id", "logger", "level", "message", "time_us", "traceback", "trace_id", "span_id", "handled")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    LOGGER_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    TIME_US_FIELD_NUMBER: _ClassVar[int]
    TRACEBACK_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    SPAN_ID_FIELD_NUMBER: _ClassVar[int]
    HANDLED_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    logger: str
    level: int
    message: str
    time_us: int
    traceback: str
    trace_id: str
    span_id: str
    handled: bool
    def __init__(self, call_id: _Optional[int] = ..., logger: _Optional[str] = ..., level: _Optional[int] = ..., message: _Optional[str] = ..., time_us: _Optional[int] = ..., traceback: _Optional[str] = ..., trace_id: _Optional[str] = ..., span_id: _Optional[str] = ..., handled: bool = ...) -> None: ...

class PingRequest(_message.Message):
    __slots__ = ("sequence",)
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    def __init__(self, sequence: _Optional[int] = ...) -> None: ...

class PingResponse(_message.Message):
    __slots__ = ("sequence", "calls_running", "cpu_time_us")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    CALLS_RUNNING_FIELD_NUMBER: _ClassVar[int]
    CPU_TIME_US_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    calls_running: int
    cpu_time_us: int
    def __init__(self, sequence: _Optional[int] = ..., calls_running: _Optional[int] = ..., cpu_time_us: _Optional[int] = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeResponse(_message.Message):
    __slots__ = ("tools", "bridge_version", "python_version")
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    BRIDGE_VERSION_FIELD_NUMBER: _ClassVar[int]
    PYTHON_VERSION_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[Tool]
    bridge_version: str
    python_version: str
    def __init__(self, tools: _Optional[_Iterable[_Union[Tool, _Mapping]]] = ..., bridge_version: _Optional[str] = ..., python_version: _Optional[str] = ...) -> None: ...

class Tool(_message.Message):
    __slots__ = ("name", "description", "shape", "reads_input", "arguments_schema_json", "result_schema_json", "batch_max")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    READS_INPUT_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    RESULT_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    BATCH_MAX_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    shape: ToolShape
    reads_input: bool
    arguments_schema_json: str
    result_schema_json: str
    batch_max: int
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., shape: _Optional[_Union[ToolShape, str]] = ..., reads_input: bool = ..., arguments_schema_json: _Optional[str] = ..., result_schema_json: _Optional[str] = ..., batch_max: _Optional[int] = ...) -> None: ...
