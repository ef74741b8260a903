"""The conversation with the host, which is never waited for."""

from __future__ import annotations

import socket

from snakepit_guard.frames import FrameReader, encode_frame
from snakepit_guard.requests import About, End, Start, parse_request

_CHUNK_BYTES = 65_536


class HostGone(Exception):
    """The host is dead, or has let go of the conversation."""


class HostLink:
    """Messages of the host, and answers that wait where it does not read.

    Attributes:
        descriptor: To be waited for: readable with a request, writable while `waiting`.
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
        """Returns what the host asks for.

        Raises:
            HostGone: It will ask for nothing any more.
            FrameError: It does not keep to the protocol.
        """
        try:
            data = self._connection.recv(_CHUNK_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            raise HostGone
        return [parse_request(message) for message in self._reader.feed(data)]

    def send(self, type: str, **fields: object) -> None:
        """Answers, now or when the host reads again."""
        self._unsent += encode_frame({"type": type, **fields})
        self.flush()

    def flush(self) -> None:
        """Sends what waits, as far as the host reads; to a host that is gone, nothing."""
        flags = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
        try:
            while self._unsent:
                del self._unsent[: self._connection.send(self._unsent, flags)]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent.clear()  # Its death is told by the lifeline.
