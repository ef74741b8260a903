"""Messages between the cluster's programs: JSON objects, one a line, of bounded length."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# A launch message has at most 64 KiB, a piece of output less; escapes make both longer.
MAX_LINE = 1 << 20


class LineInvalid(Exception):
    """What arrived is no message."""


class LineReader:
    """Cuts what arrives into messages."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[dict[str, object]]:
        """Yields the messages that are complete now.

        Raises:
            LineInvalid: a line is too long, or not a JSON object.
        """
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > self._limit:
            raise LineInvalid(f"a line is longer than {self._limit} bytes")
        return map(self._message, lines)

    def _message(self, line: bytes) -> dict[str, object]:
        if len(line) > self._limit:
            raise LineInvalid(f"a line is longer than {self._limit} bytes")
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise LineInvalid(f"a line is not JSON: {error}") from None
        if not isinstance(message, dict):
            raise LineInvalid("a line is not a JSON object")
        return message


def line(**message: object) -> bytes:
    """Returns the line of a message."""
    return json.dumps(message).encode() + b"\n"
