"""Cuts a stream of bytes into frames."""

from __future__ import annotations

import struct

__all__ = ["FRAME", "HEADER", "SIGNAL", "FrameParser", "Malformed", "framed"]

# Kind and length of what follows (docs/bridge-protocol.md, section 5).
HEADER = struct.Struct(">BI")
_HEADER_BYTES = HEADER.size
_unpack_header = HEADER.unpack_from
# A `HostFrame` or `WorkerFrame`.
FRAME = 0
# A `HostSignal` or `WorkerSignal`.
SIGNAL = 1


class Malformed(Exception):
    """The bytes are not a frame, or its length is over the limit."""


def framed(kind: int, body: bytes) -> bytes:
    """Returns a message with its header."""
    return HEADER.pack(kind, len(body)) + body


class FrameParser:
    """Cuts bytes into messages. Keeps only bytes that arrived: the length that a header
    claims reserves no memory."""

    def __init__(self, limit: int) -> None:
        """Accepts messages of up to `limit` bytes."""
        self._limit = limit
        self._rest = bytearray()
        self._needed = _HEADER_BYTES

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Returns the messages that are complete now: kind and body.

        Raises:
            Malformed: this is not a message; nothing after it can be read.
        """
        if self._rest:
            self._rest += data
            if len(self._rest) < self._needed:
                return []
            data = bytes(self._rest)
            self._rest.clear()
        messages = []
        at = 0
        end = len(data)
        self._needed = _HEADER_BYTES
        while end - at >= _HEADER_BYTES:
            kind, length = _unpack_header(data, at)
            if kind > SIGNAL:
                raise Malformed(f"a message of the unknown kind {kind}")
            if length > self._limit:
                raise Malformed(
                    f"a message of {length} bytes, the limit is {self._limit}"
                )
            begin = at + _HEADER_BYTES
            if end - begin < length:
                self._needed = _HEADER_BYTES + length
                break
            at = begin + length
            messages.append((kind, data[begin:at]))
        if at < end:
            self._rest += data[at:]
        return messages
