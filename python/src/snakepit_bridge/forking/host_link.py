"""The conversation with the host; never blocks."""

from __future__ import annotations

import socket

from snakepit_bridge.forking.frames import FrameReader, encode_frame
from snakepit_bridge.forking.requests import About, End, Start, parse_request

_CHUNK_BYTES = 65_536


class HostGone(Exception):
    """The host is dead, or has closed the conversation."""


class HostLink:
    """Messages of the host, and answers that wait while it does not read.

    Attributes:
        descriptor: To wait for: readable with a request, writable while `waiting`.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.descriptor = connection.fileno()
        self._connection = connection
        self._reader = FrameReader()
        self._unsent = bytearray()

    @property
    def waiting(self) -> bool:
        """Whether answers wait for the host to read."""
        return bool(self._unsent)

    def receive(self) -> list[Start | About | End]:
        """Returns the host's requests.

        Raises:
            HostGone: No more requests will come.
            FrameError: The host broke the protocol.
        """
        try:
            data = self._connection.recv(_CHUNK_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            raise HostGone
        return [parse_request(body) for body in self._reader.feed(data)]

    def send(self, type: str, **fields: object) -> None:
        """Sends an answer, now or when the host reads again."""
        self._unsent += encode_frame({"type": type, **fields})
        self.flush()

    def flush(self) -> None:
        """Sends waiting answers, as far as the host reads; drops them if the host is
        gone.
        """
        flags = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
        try:
            while self._unsent:
                del self._unsent[: self._connection.send(self._unsent, flags)]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent.clear()  # The lifeline reports its death.
