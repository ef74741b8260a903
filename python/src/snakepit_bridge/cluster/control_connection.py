"""The relay's connection to the gateway: messages both ways, without ever blocking."""

from __future__ import annotations

import select
import ssl
import time
from collections.abc import Iterator

from snakepit_bridge.cluster.json_lines import LineReader, line

__all__ = ["ControlConnection"]

READ_BYTES = 64 << 10
# The most output of the worker that waits for a stopped gateway; further output is
# dropped.
MOST_WAITING = 4 << 20


class ControlConnection:
    """A connection that a loop calls when it is readable or writable."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._reader = LineReader()
        self._waiting = bytearray()
        self._dropped = 0

    def fileno(self) -> int:
        """For a selector."""
        return self._connection.fileno()

    @property
    def has_waiting(self) -> bool:
        """Whether data waits until the connection is writable."""
        return bool(self._waiting)

    def receive(self) -> Iterator[dict[str, object]]:
        """Yields what has arrived.

        Raises:
            EOFError: the gateway ended the connection.
            OSError: it broke.
            LineInvalid: what arrived is no message.
        """
        while True:
            try:
                data = self._connection.recv(READ_BYTES)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            if not data:
                raise EOFError
            yield from self._reader.feed(data)

    def send_output(self, stream: str, data: bytes) -> None:
        """Sends a piece of the worker's output, or counts it if too much waits."""
        if self._dropped or len(self._waiting) > MOST_WAITING:
            self._dropped += len(data)
            return
        # Bytes that are not UTF-8 also arrive unchanged.
        text = data.decode("utf-8", "surrogateescape")
        self.send(output={"stream": stream, "text": text})

    def send(self, **message: object) -> None:
        """Sends a message, now or when the connection is writable.

        Raises:
            OSError: it broke.
        """
        if self._dropped:
            self._waiting += self._note()
        self._waiting += line(**message)
        self.flush()

    def flush(self) -> None:
        """Sends as much as the connection accepts now; raises `OSError` if it broke."""
        try:
            while self._waiting or self._dropped:
                if not self._waiting:
                    self._waiting += self._note()
                del self._waiting[: self._connection.send(self._waiting)]
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass

    def _note(self) -> bytes:
        count, self._dropped = self._dropped, 0
        text = f"[{count} bytes of output are lost: the gateway did not read]\n"
        return line(output={"stream": "stderr", "text": text})

    def finish(self, within_s: float) -> None:
        """Sends waiting data, if the gateway reads it in time, and closes.

        Raises:
            OSError: it broke.
        """
        deadline = time.monotonic() + within_s
        while self._waiting and (left := deadline - time.monotonic()) > 0:
            select.select([], [self._connection], [], left)
            self.flush()
        self._connection.close()
