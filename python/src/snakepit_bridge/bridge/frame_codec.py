"""Frames as MessagePack (docs/bridge-protocol.md, section 3).

A frame is an array of its kind and its fields. The usual calls have one layout, which is read
without a decoder: that would take as long as a small tool runs.
"""

from __future__ import annotations

import struct
import time

import msgpack

from snakepit_bridge import frames
from snakepit_bridge.frames import Record, Undecodable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from snakepit_bridge.frames import HostFrame, WorkerFrame

_CALL_KIND = 1
# A call of which no trace is recorded. With telemetry most are, and an option would take
# longer to read than the rest of the call.
_UNRECORDED_CALL_KIND = 10
_CHUNK = 2
# The first bytes of a call: an array of 4 or 5 items, and the kind.
CALL = 0x9400 | _CALL_KIND
CALL_WITH_OPTIONS = 0x9500 | _CALL_KIND
UNRECORDED_CALL = 0x9400 | _UNRECORDED_CALL_KIND
UNRECORDED_CALL_WITH_OPTIONS = 0x9500 | _UNRECORDED_CALL_KIND
# Then its number in 4 bytes, and the length of its arguments in 4 bytes.
_UINT_32 = 0xCE
_BIN_32 = 0xC6
_HEAD = struct.Struct(">HBIBI")
_HEAD_BYTES = _HEAD.size
_unpack_head = _HEAD.unpack_from
_packb, _unpackb = msgpack.packb, msgpack.unpackb
_FIX_TEXT, _MOST_FIX_TEXT, _TEXT_8 = 0xA0, 0xBF, 0xD9
# The most items of a list, and the deepest nesting of one in a frame.
_MOST_ITEMS = 1 << 16

# What a call has besides its tool and its arguments, by the names of the fields of `Call`.
Options: TypeAlias = "dict[str, Any]"
# Its number, the name of its tool as MessagePack, its encoded arguments and its options.
PackedCall: TypeAlias = "tuple[int, bytes, bytes, Options | None]"

# What a usual call may have, and any call; an unusual one is read like any frame.
_USUAL: dict[str, Any] = {
    "timeout_ms": int,
    "session_id": str,
    "trace_context": dict,
    "allows_handles": bool,
}
_TYPES: dict[str, Any] = {
    **_USUAL,
    "stream_credit": int,
    "stream_bytes": int,
    "has_input": bool,
    "attachment": list,
    "result_segment": str,
    "segments_gone": list,
    "wants_progress": bool,
}
# The numbers of the other frames of the host, and the types of their fields.
_HOST_FRAMES: dict[int, tuple[Any, tuple[type, ...]]] = {
    2: (frames.Cancel, (int, str)),
    3: (frames.Credit, (int, int)),
    4: (frames.Input, (int, bytes)),
    5: (frames.InputEnd, (int, str)),
    6: (frames.HostResult, (int, bytes)),
    7: (frames.HostFailure, (int, str, str)),
    8: (frames.SessionEnd, (str,)),
    9: (frames.ProgressCredit, (int,)),
}
_WORKER_FRAMES: dict[type, int] = {
    frames.Result: 1,
    frames.Chunk: _CHUNK,
    frames.End: 3,
    frames.Failure: 4,
    frames.InputCredit: 5,
    frames.HostCall: 6,
    frames.HostCallCancel: 7,
    frames.Log: 8,
    frames.Progress: 9,
    frames.Sources: 10,
}
# The signals of the host, and those of the worker.
_HOST_SIGNALS: dict[int, tuple[str, tuple[type, ...]]] = {
    1: ("hello", (str,)),
    2: ("ping", (int,)),
    3: ("describe", ()),
    4: ("health", ()),
    5: ("leave", ()),
}
WELCOME, PING, DESCRIPTION, HEALTH, BYE = 1, 2, 3, 4, 5


def deadline(timeout_ms: int | None) -> float | None:
    """Returns the deadline of a call, on the clock of `time.monotonic()`; None if it
    has none.
    """
    return time.monotonic() + timeout_ms / 1000 if timeout_ms else None


# ----------------------------------------------------------------------- calls


def packed_name(tool: str) -> bytes:
    """Returns the name of a tool as a call has it."""
    name: bytes = msgpack.packb(tool)
    return name


def is_packed(data: bytes) -> bool:
    """Returns whether a message is a call as MessagePack, and no protobuf: there, no field
    of a frame has the number of its first byte."""
    return bool(data) and data[0] & 0xF0 == 0x90


def packed_call(data: bytes) -> PackedCall | None:
    """Returns the parts of a frame that is a usual call; None for any other frame, and
    for what is none.
    """
    if len(data) < _HEAD_BYTES:
        return None
    start, number_mark, number, size_mark, size = _unpack_head(data)
    end = _HEAD_BYTES + size
    if number_mark != _UINT_32 or size_mark != _BIN_32 or end >= len(data):
        return None
    if start == CALL:
        return number, data[end:], data[_HEAD_BYTES:end], None
    if start == UNRECORDED_CALL:
        return number, data[end:], data[_HEAD_BYTES:end], _UNRECORDED
    if start not in (CALL_WITH_OPTIONS, UNRECORDED_CALL_WITH_OPTIONS):
        return None
    name_end = text_end(data, end)
    if not name_end:
        return None
    options = packed_options(data[name_end:])
    if options is None:
        return None
    if start == UNRECORDED_CALL_WITH_OPTIONS:
        options = {**options, **_UNRECORDED}
    return number, data[end:name_end], data[_HEAD_BYTES:end], options


def text_end(data: bytes, begin: int) -> int:
    """Returns where a short text ends; 0 if there is none."""
    if begin + 1 >= len(data):
        return 0
    mark = data[begin]
    if _FIX_TEXT <= mark <= _MOST_FIX_TEXT:
        return begin + 1 + mark - _FIX_TEXT
    return begin + 2 + data[begin + 1] if mark == _TEXT_8 else 0


def packed_traceparent(data: bytes, begin: int, end: int) -> str | None:
    """Returns the header of a call with no other option than one of W3C's version 00, as
    every call that is recorded has; None for other options."""
    if end - begin != _TRACED_BYTES or not data.startswith(_TRACED, begin):
        return None
    traceparent = data[end - _TRACEPARENT_BYTES : end]
    return traceparent.decode("ascii") if traceparent.isascii() else None


def packed_options(data: bytes) -> Options | None:
    """Returns the options of a usual call; None for others, and for what are no options."""
    traceparent = packed_traceparent(data, 0, len(data))
    if traceparent is not None:
        return {"trace_context": {"traceparent": traceparent}}
    try:
        options: Any = _unpackb(data)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None
    if type(options) is not dict:
        return None
    for name, value in options.items():
        if type(value) is not _USUAL.get(name):
            return None
        if name == "timeout_ms":
            if value < 0:
                return None
        elif name == "trace_context" and (
            len(value) != 1 or type(value.get("traceparent")) is not str
        ):
            return None
    return options


_UNRECORDED: Options = {"unrecorded": True}
# The options of a call with nothing but a `traceparent` of W3C's version 00, before that.
_TRACEPARENT_BYTES = 55
_TRACED_OPTIONS: bytes = msgpack.packb(
    {"trace_context": {"traceparent": "-" * _TRACEPARENT_BYTES}}
)
_TRACED_BYTES = len(_TRACED_OPTIONS)
_TRACED = _TRACED_OPTIONS[:-_TRACEPARENT_BYTES]


# ---------------------------------------------------------------------- frames


def decode_frame(data: bytes) -> HostFrame | None:
    """Returns a frame of the host; None for a kind that is not known here.

    Raises:
        Undecodable: it is none.
    """
    kind, values = _kind_of(data)
    if kind in (_CALL_KIND, _UNRECORDED_CALL_KIND):
        call = _call(values)
        call.unrecorded = kind == _UNRECORDED_CALL_KIND
        return call
    if kind not in _HOST_FRAMES:
        return None
    make, types = _HOST_FRAMES[kind]
    frame: HostFrame = make(*_checked(values, types))
    return frame


def encode_frame(frame: WorkerFrame) -> bytes:
    """Returns a frame of the worker."""
    if type(frame) is frames.Chunk and frame.attachment is None:
        # Streams have many.
        packed: bytes = _packb([_CHUNK, frame.call_id, frame.value, None])
        return packed
    return _pack([_WORKER_FRAMES[type(frame)], *frame.values()])


def _call(values: list[Any]) -> frames.Call:
    call_id, arguments, tool = _checked(values, (int, bytes, str))
    options = values[3] if len(values) > 3 else {}
    if type(options) is not dict:
        raise Undecodable("a call with options that are no map")
    known = {name: value for name, value in options.items() if name in _TYPES}
    _check_options(known)
    if "attachment" in known:
        attachment = _checked(known["attachment"], (str, int, int))
        known["attachment"] = frames.Attachment(*attachment)
    return frames.Call(call_id, arguments, tool, **known)


def _check_options(options: Options) -> None:
    for name, value in options.items():
        _check(value, _TYPES[name])
    for name, of in options.get("trace_context", {}).items():
        _check(name, str)
        _check(of, str)
    for segment in options.get("segments_gone", ()):
        _check(segment, str)


# --------------------------------------------------------------------- signals


def decode_signal(data: bytes) -> tuple[str | None, list[Any]]:
    """Returns the name of a signal of the host (None if it is unknown) and its values.

    Raises:
        Undecodable: it is none.
    """
    kind, values = _kind_of(data)
    if kind not in _HOST_SIGNALS:
        return None, []
    name, types = _HOST_SIGNALS[kind]
    return name, _checked(values, types)


def encode_signal(kind: int, *values: object) -> bytes:
    """Returns a signal of the worker."""
    return _pack([kind, *values])


# ----------------------------------------------------------------- MessagePack


def _pack(value: object) -> bytes:
    packed: bytes = msgpack.packb(value, default=Record.values)
    return packed


def _unpack(data: bytes) -> Any:
    try:
        return msgpack.unpackb(
            data, max_array_len=_MOST_ITEMS, max_map_len=_MOST_ITEMS, max_ext_len=0
        )
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise Undecodable(
            f"{len(data)} bytes that are not MessagePack: {error}"
        ) from None


def _kind_of(data: bytes) -> tuple[int, list[Any]]:
    parts = _unpack(data)
    if type(parts) is not list or not parts or type(parts[0]) is not int:
        raise Undecodable("a message that is no array with its kind")
    return parts[0], parts[1:]


def _checked(values: list[Any], types: tuple[type, ...]) -> list[Any]:
    """Returns as many values as there are types: a later version may send more."""
    if len(values) < len(types):
        raise Undecodable(f"a message with {len(values)} of {len(types)} fields")
    for value, kind in zip(values, types, strict=False):
        _check(value, kind)
    return values[: len(types)]


def _check(value: object, kind: type) -> None:
    # `True` is no number here.
    if type(value) is not kind or (kind is int and value < 0):  # type: ignore[operator]
        raise Undecodable(f"a message with {value!r:.40} where {kind.__name__} belongs")
