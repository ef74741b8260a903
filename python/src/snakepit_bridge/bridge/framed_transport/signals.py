"""The signals that every worker gets and sends, without protobuf.

Loading it takes a tenth of a worker's start, and most workers would need it only for
these (docs/bridge-protocol.md, section 5).
"""

from __future__ import annotations

from snakepit_bridge.bridge.host_frames import Undecodable
from snakepit_bridge.calls.run.compact_result import varint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "BUSY",
    "LEFT",
    "MALFORMED",
    "UNAUTHENTICATED",
    "WELCOME",
    "bye",
    "health",
    "kind_of",
    "ping",
    "sequence_of",
    "token_of",
]

# Of `ByeReason`: why this is the last signal.
LEFT = 1
UNAUTHENTICATED = 2
BUSY = 3
MALFORMED = 4

# The numbers of their fields in `HostSignal`.
_KINDS = {1: "hello", 2: "ping", 3: "describe", 4: "health", 5: "leave"}
_VARINT = 0
_FIXED_64 = 1
_BYTES = 2
_FIXED_32 = 5
_MOST_TAG = (1 << 32) - 1
_MOST_VARINT = (1 << 64) - 1
# Bytes of a number, 7 bits each.
_LONGEST = 10


def kind_of(signal: bytes) -> tuple[str | None, bytes]:
    """Returns the kind of a `HostSignal` (None if it is unknown) and its body.

    Raises:
        Undecodable: it is not a signal.
    """
    kind: str | None = None
    body = b""
    for number, value in _fields(signal):
        if isinstance(value, bytes) and number in _KINDS:
            # The last one counts; parts of the same one are one after the other.
            same = kind == _KINDS[number]
            kind, body = _KINDS[number], body + value if same else value
    return kind, body


def token_of(hello: bytes) -> bytes:
    """Returns the token of a `Hello`; raises `Undecodable`."""
    token = b""
    for number, value in _fields(hello):
        if number == 1 and isinstance(value, bytes):
            token = value
    return token


def sequence_of(ping: bytes) -> int:
    """Returns the number of a `PingRequest`; raises `Undecodable`."""
    sequence = 0
    for number, value in _fields(ping):
        if number == 1 and isinstance(value, int):
            sequence = value
    return sequence


# A `WorkerSignal` with a `Welcome`.
WELCOME = b"\x0a\x00"


def ping(sequence: int, calls_running: int, cpu_time_us: int) -> bytes:
    """Returns a `WorkerSignal` with a `PingResponse`."""
    return _field(
        2, _number(1, sequence) + _number(2, calls_running) + _number(3, cpu_time_us)
    )


def health(serving: bool) -> bytes:
    """Returns a `WorkerSignal` with a `HealthResponse`."""
    return _field(4, _number(1, serving))


def bye(reason: int, message: str) -> bytes:
    """Returns a `WorkerSignal` with a `Bye`, for one of the reasons above."""
    return _field(5, _number(1, reason) + _field(2, message.encode()))


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yields number and value of each field that is a number or bytes."""
    at, end = 0, len(message)
    while at < end:
        tag, at = _read_varint(message, at)
        number, kind = tag >> 3, tag & 7
        if number == 0 or tag > _MOST_TAG:
            raise Undecodable(f"a signal with a field of the number {number}")
        if kind == _VARINT:
            value, at = _read_varint(message, at)
            yield number, value
            continue
        if kind == _BYTES:
            length, at = _read_varint(message, at)
        elif kind in (_FIXED_32, _FIXED_64):
            length = 4 if kind == _FIXED_32 else 8
        else:
            raise Undecodable(f"a signal with a field of the unknown kind {kind}")
        at, begin = at + length, at
        if at > end:
            raise Undecodable(f"a signal of {end} bytes, cut off")
        if kind == _BYTES:
            yield number, message[begin:at]


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place, byte in enumerate(message[at : at + _LONGEST]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value & _MOST_VARINT, at + place + 1
    raise Undecodable(f"a signal of {len(message)} bytes, with a number cut off")


def _number(number: int, value: int) -> bytes:
    # 0 is what is left out.
    return varint(number << 3 | _VARINT) + varint(value) if value else b""


def _field(number: int, value: bytes) -> bytes:
    return varint(number << 3 | _BYTES) + varint(len(value)) + value
