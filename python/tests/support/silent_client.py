"""A gRPC client that asks once and then neither reads nor acknowledges anything."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator

DATA = 0x0
HEADERS = 0x1
SETTINGS = 0x4
PING = 0x6
ACK = 0x1
END_HEADERS = 0x4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
STREAM = 1
# Beyond any that a test sets, and before any that gRPC has by itself.
DEADLINE_S = 20.0


class SilentClient:
    """What a host is to its worker while it is stopped: a context manager."""

    def __init__(self, path: str, token: str) -> None:
        self._token = token
        self._socket = socket.socket(socket.AF_UNIX)
        self._deadline = time.monotonic() + DEADLINE_S
        self._socket.connect(path)
        self._socket.sendall(PREFACE + _frame(SETTINGS))

    def __enter__(self) -> SilentClient:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, path: str) -> None:
        """Begins a call with an empty message, and leaves it open."""
        fields = {
            ":method": "POST",
            ":scheme": "http",
            ":path": path,
            ":authority": "localhost",
            "content-type": "application/grpc",
            "te": "trailers",
            "snakepit-token": self._token,
        }
        block = b"".join(_literal(*field) for field in fields.items())
        self._socket.sendall(
            _frame(HEADERS, END_HEADERS, STREAM, block)
            + _frame(DATA, 0, STREAM, _message(b""))
        )

    def say(self, message: bytes) -> None:
        """Sends one more message of the call."""
        self._socket.sendall(_frame(DATA, 0, STREAM, _message(message)))

    def acknowledge_settings(self) -> None:
        """Takes the worker's settings, as a host does when it connects."""
        self._socket.sendall(_frame(SETTINGS, ACK))

    def until_closed(self) -> Iterator[int]:
        """Yields the kind of each frame until the worker closes the connection.

        Raises:
            TimeoutError: it has not within `DEADLINE_S` of the connection.
        """
        return (kind for kind, _ in self.frames())

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """Yields kind and body of each frame until the worker closes the connection.

        Raises:
            TimeoutError: none came within `DEADLINE_S` of the connection.
        """
        while head := self._read(9):
            body = self._read(int.from_bytes(head[:3], "big"))
            yield head[3], body

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            # Frames that go on coming are no reason to wait for longer.
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"still open after {DEADLINE_S} s")
            self._socket.settimeout(left)
            more = self._socket.recv(size - len(data))
            if not more:
                return b""
            data += more
        return data


def _message(body: bytes) -> bytes:
    """A message as gRPC frames it: not compressed, and its length."""
    return struct.pack(">BI", 0, len(body)) + body


def _frame(kind: int, flags: int = 0, stream: int = 0, body: bytes = b"") -> bytes:
    return (
        struct.pack(">I", len(body))[1:]
        + struct.pack(">BBI", kind, flags, stream)
        + body
    )


def _literal(name: str, value: str) -> bytes:
    # Never indexed, not compressed: what every HTTP/2 server takes.
    return b"\x10" + _text(name) + _text(value)


def _text(text: str) -> bytes:
    data = text.encode()
    return bytes([len(data)]) + data
