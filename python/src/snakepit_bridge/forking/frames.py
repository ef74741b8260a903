"""Frames: four bytes of length, big-endian, then that many bytes.

Those of the host are requests, see `requests`; those to the host are JSON objects.
"""

from __future__ import annotations

import json

# Arguments and environment of one program have at most about 6 MiB on Linux.
MAX_FRAME_BYTES = 16 * 1024 * 1024
_LENGTH_BYTES = 4


class FrameError(Exception):
    """The other side broke the protocol; nothing after this can be parsed."""


class FrameReader:
    """Finds the bodies of frames in bytes, however they are split."""

    def __init__(self, max_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_bytes = max_bytes
        self._waiting = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Adds bytes; returns the bodies that are complete now.

        Raises:
            FrameError: A length over the limit.
        """
        self._waiting += data
        bodies = []
        while len(self._waiting) >= _LENGTH_BYTES:
            length = int.from_bytes(self._waiting[:_LENGTH_BYTES], "big")
            if length > self._max_bytes:
                raise FrameError(f"a frame of {length} bytes, over {self._max_bytes}")
            end = _LENGTH_BYTES + length
            if len(self._waiting) < end:
                break
            bodies.append(bytes(self._waiting[_LENGTH_BYTES:end]))
            del self._waiting[:end]
        return bodies


def encode_frame(message: dict[str, object]) -> bytes:
    """Returns one answer as a frame."""
    body = json.dumps(message, separators=(",", ":")).encode("ascii")
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body
