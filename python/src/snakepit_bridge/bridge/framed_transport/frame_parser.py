"""Cuts a stream of bytes into frames."""

from __future__ import annotations

import struct

# Kind and length of what follows (docs/bridge-protocol.md, section 5).
HEADER = struct.Struct(">BI")
_HEADER_BYTES = HEADER.size
_unpack_header = HEADER.unpack_from
# A frame of the conversation.
FRAME = 0
# A signal beside it.
SIGNAL = 1


class Malformed(Exception):
    """The bytes are not a frame, or its length is over the limit."""


def framed(kind: int, body: bytes) -> bytes:
    """Returns a message with its header."""
    return HEADER.pack(kind, len(body)) + body


class FrameParser:
    """Cuts bytes into messages. Keeps only bytes that have arrived: the length in a
    header does not reserve memory.

    Attributes:
        is_within: whether what comes next belongs to a message that has begun.
    """

    def __init__(self, limit: int) -> None:
        """Accepts messages of up to `limit` bytes."""
        self.is_within = False
        self._limit = limit
        self._rest = b""
        # Of a message that is not whole.
        self._kind = FRAME
        self._parts: list[bytes] = []
        self._missing = 0

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Returns the messages that are complete now: kind and body.

        Raises:
            Malformed: this is not a message; nothing after it can be read.
        """
        at = 0
        messages: list[tuple[int, bytes]] = []
        if self._missing:
            missing = self._missing - len(data)
            if missing > 0:
                self._parts.append(data)
                self._missing = missing
                return messages
            # It is copied once, whatever its length.
            at = self._missing
            self._parts.append(data[:at])
            messages.append((self._kind, b"".join(self._parts)))
            self._parts = []
            self._missing = 0
        elif self._rest:
            data = self._rest + data
            self._rest = b""
        end = len(data)
        while end - at >= _HEADER_BYTES:
            kind, length = _unpack_header(data, at)
            if kind > SIGNAL:
                raise Malformed(f"a message of the unknown kind {kind}")
            if length > self._limit:
                raise Malformed(
                    f"a message of {length} bytes, the limit is {self._limit}"
                )
            begin = at + _HEADER_BYTES
            at = begin + length
            if at > end:
                self._kind = kind
                self._parts.append(data[begin:])
                self._missing = at - end
                self.is_within = True
                return messages
            messages.append((kind, data[begin:at]))
        self._rest = data[at:]
        self.is_within = at < end
        return messages
