"""Frames: four bytes of length, big-endian, then one JSON object of that length.

What arrives is input from outside: its length, encoding and shape are checked first.
"""

from __future__ import annotations

import json

# Arguments and environment of one program have at most about 6 MiB on Linux.
MAX_FRAME_BYTES = 16 * 1024 * 1024
_LENGTH_BYTES = 4


class FrameError(Exception):
    """The other side broke the protocol; nothing after this can be parsed."""


class FrameReader:
    """Parses messages from bytes, however they are split."""

    def __init__(self, max_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_bytes = max_bytes
        self._waiting = bytearray()

    def feed(self, data: bytes) -> list[dict[str, object]]:
        """Adds bytes; returns the messages that are complete now.

        Raises:
            FrameError: A length over the limit, or bytes that are not a JSON object.
        """
        self._waiting += data
        messages = []
        while len(self._waiting) >= _LENGTH_BYTES:
            length = int.from_bytes(self._waiting[:_LENGTH_BYTES], "big")
            if length > self._max_bytes:
                raise FrameError(f"a frame of {length} bytes, over {self._max_bytes}")
            end = _LENGTH_BYTES + length
            if len(self._waiting) < end:
                break
            messages.append(_parse(bytes(self._waiting[_LENGTH_BYTES:end])))
            del self._waiting[:end]
        return messages


def encode_frame(message: dict[str, object]) -> bytes:
    """Returns one message as a frame."""
    body = json.dumps(message, separators=(",", ":")).encode("ascii")
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


def _parse(body: bytes) -> dict[str, object]:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"not JSON: {error}") from None
    if not isinstance(message, dict):
        raise FrameError("not a JSON object")
    return message
