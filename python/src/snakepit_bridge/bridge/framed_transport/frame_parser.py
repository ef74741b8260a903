"""Where one frame ends and the next one begins."""

from __future__ import annotations

import struct

__all__ = ["FRAME", "HEADER", "SIGNAL", "FrameParser", "Malformed", "framed"]

# Kind and length of what follows (docs/bridge-protocol.md, section 5).
HEADER = struct.Struct(">BI")
# A `HostFrame` or `WorkerFrame`.
FRAME = 0
# A `HostSignal` or `WorkerSignal`.
SIGNAL = 1


class Malformed(Exception):
    """What arrived is no frame, or one beyond the limit."""


def framed(kind: int, body: bytes) -> bytes:
    """Returns a message with its header."""
    return HEADER.pack(kind, len(body)) + body


class FrameParser:
    """Cuts what arrives into messages. Keeps no more than what arrived of one: the
    length that a header claims reserves nothing."""

    def __init__(self, limit: int) -> None:
        """Takes messages of up to `limit` bytes."""
        self._limit = limit
        self._rest = bytearray()
        self._needed = HEADER.size

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Returns the messages that are complete now: kind and body.

        Raises:
            Malformed: it is none; nothing that follows can be read.
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
        self._needed = HEADER.size
        while end - at >= HEADER.size:
            kind, length = HEADER.unpack_from(data, at)
            if kind > SIGNAL:
                raise Malformed(f"a message of kind {kind}, which there is not")
            if length > self._limit:
                raise Malformed(
                    f"a message of {length} bytes, and the limit is {self._limit}"
                )
            begin = at + HEADER.size
            if end - begin < length:
                self._needed = HEADER.size + length
                break
            at = begin + length
            messages.append((kind, data[begin:at]))
        if at < end:
            self._rest += data[at:]
        return messages
