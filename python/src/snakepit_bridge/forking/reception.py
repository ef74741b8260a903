"""A private socket at which the host hands over a worker's descriptors.

Node cannot pass a descriptor to another process. So it connects once for each
descriptor and sends a header with the start and the descriptor's number; from then on
the connection belongs to the worker.
"""

from __future__ import annotations

import errno
import os
import socket
import struct

from snakepit_bridge.forking.requests import DESCRIPTORS

# The start and the descriptor. Only these bytes are read: the next ones are the worker's.
HEADER = struct.Struct(">IB")
_PEER = struct.Struct("iII")
_OURS = frozenset(DESCRIPTORS.values())
_FULL = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
# Connections without a header; the host sends the header at once.
_MAX_UNANNOUNCED = 256
# A nonblocking connect fails if the backlog is full. The system may limit it further
# (net.core.somaxconn: 128 on old kernels), which the host has to respect.
_BACKLOG = 1024


class Arrival:
    """A connection whose header has arrived.

    Attributes:
        error: 0, or why it could not be kept.
    """

    __slots__ = ("error", "start")

    def __init__(self, start: int, error: int) -> None:
        self.start = start
        self.error = error


class Reception:
    """Accepts connections of the host and keeps them until their start.

    Attributes:
        listener: Readable when a client connects.
    """

    def __init__(self, path: str, host: int) -> None:
        """Listens.

        Args:
            path: In a directory that no other user can enter.
            host: The pid of the only process whose connections are accepted.
        """
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen(_BACKLOG)
        self._path = path
        self._host = host
        self._unannounced: dict[int, socket.socket] = {}
        self._announced: dict[int, dict[int, socket.socket]] = {}
        # Without a free descriptor a connection can be neither accepted nor refused, and
        # would wake the loop for ever. This reserve lets one be accepted and refused.
        self._reserve: int | None = _any_descriptor()
        self._refused: int | None = None

    @property
    def waiting(self) -> list[int]:
        """Descriptors to wait for: connections without a header, and new connections."""
        if self._reserve is None:
            return list(self._unannounced)
        return [*self._unannounced, self.listener.fileno()]

    def happened(self, descriptor: int) -> Arrival | None:
        """Handles a readable descriptor of `waiting`; returns a connection with its header."""
        if descriptor in self._unannounced:
            return self._read_header(descriptor)
        connection = self._accept()
        if connection is None:
            return None
        if len(self._unannounced) < _MAX_UNANNOUNCED and self._is_host(connection):
            self._unannounced[connection.fileno()] = connection
        else:
            connection.close()
            self._take_back_reserve()
        return None

    def take(
        self, start: int, numbers: frozenset[int]
    ) -> dict[int, socket.socket] | None:
        """Returns the connections of a start once all of these have arrived."""
        waiting = self._announced.get(start, {})
        if not numbers <= waiting.keys():
            return None
        return self._announced.pop(start, {})

    def drop(self, start: int) -> None:
        """Closes the connections of a start that is cancelled."""
        for connection in self._announced.pop(start, {}).values():
            connection.close()

    def close(self) -> None:
        """Stops listening, closes all connections, and removes the socket."""
        self.listener.close()
        for connection in self._unannounced.values():
            connection.close()
        for start in list(self._announced):
            self.drop(start)
        if self._reserve is not None:
            os.close(self._reserve)
        try:
            os.unlink(self._path)
        except OSError:
            pass

    def _is_host(self, connection: socket.socket) -> bool:
        option = connection.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size
        )
        pid, user, _ = _PEER.unpack(option)
        return bool(pid == self._host and user == os.geteuid())

    def _accept(self) -> socket.socket | None:
        try:
            return self.listener.accept()[0]
        except OSError as error:
            if error.errno not in _FULL or self._reserve is None:
                return None
        os.close(self._reserve)
        self._reserve = None
        try:
            connection, _ = self.listener.accept()
        except OSError:
            self._take_back_reserve()
            return None
        self._refused = connection.fileno()
        return connection

    def _take_back_reserve(self) -> None:
        if self._reserve is None:
            self._refused = None
            self._reserve = _any_descriptor()

    def _read_header(self, descriptor: int) -> Arrival | None:
        connection = self._unannounced.pop(descriptor)
        try:
            header = connection.recv(HEADER.size, socket.MSG_DONTWAIT)
        except OSError:
            header = b""
        arrival = None
        if len(header) == HEADER.size:
            start, number = HEADER.unpack(header)
            waiting = self._announced.setdefault(start, {})
            if descriptor == self._refused:
                arrival = Arrival(start, errno.EMFILE)
            elif number in _OURS and number not in waiting:
                waiting[number] = connection
                return Arrival(start, 0)
        connection.close()
        if descriptor == self._refused:
            self._take_back_reserve()
        return arrival


def _any_descriptor() -> int:
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
