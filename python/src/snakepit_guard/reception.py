"""A private socket at which the host hands over what becomes a worker's descriptors.

Node cannot pass a descriptor to another process. So it connects once for each one,
says for which start it is and what it shall be there, and from then on the connection
is the worker's.
"""

from __future__ import annotations

import errno
import os
import socket
import struct

from snakepit_guard.requests import DESCRIPTORS

# Which start, and which descriptor; exactly these bytes are read, the next are the worker's.
HEADER = struct.Struct(">IB")
_PEER = struct.Struct("iII")
_OURS = frozenset(DESCRIPTORS.values())
_FULL = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
# Those that have connected and not said what they are for: an honest host says so at once.
_MAX_UNANNOUNCED = 256
# A connect that does not wait fails where the backlog is full; the system may hold
# fewer (net.core.somaxconn: 128 on old kernels), which the host has to respect.
_BACKLOG = 1024


class Reception:
    """Accepts connections of the host and keeps them until the start that they are for.

    Attributes:
        listener: Readable when somebody connects.
    """

    def __init__(self, path: str, host: int) -> None:
        """Listens.

        Args:
            path: In a directory that nobody else can enter.
            host: The pid of the only process whose connections are taken.
        """
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen(_BACKLOG)
        self._path = path
        self._host = host
        self._unannounced: dict[int, socket.socket] = {}
        self._announced: dict[int, dict[int, socket.socket]] = {}
        # Given up for a moment where no other is left: a connection that cannot be
        # accepted cannot be refused either, and would wake the loop for ever.
        self._reserve = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    @property
    def unannounced(self) -> list[int]:
        """Connections that have not said yet what they are for."""
        return list(self._unannounced)

    def accept(self) -> int | None:
        """Takes one connection; returns it, or `None` where it was refused."""
        try:
            connection, _ = self.listener.accept()
        except OSError as error:
            if error.errno in _FULL:
                self._refuse_one()
            return None
        full = len(self._unannounced) >= _MAX_UNANNOUNCED
        if full or not self._is_host(connection):
            connection.close()
            return None
        self._unannounced[connection.fileno()] = connection
        return connection.fileno()

    def read_header(self, descriptor: int) -> int | None:
        """Reads what a connection is for; returns the start, or `None` where it is closed."""
        connection = self._unannounced.pop(descriptor)
        try:
            header = connection.recv(HEADER.size, socket.MSG_DONTWAIT)
        except OSError:
            header = b""
        if len(header) == HEADER.size:
            start, number = HEADER.unpack(header)
            waiting = self._announced.setdefault(start, {})
            if number in _OURS and number not in waiting:
                waiting[number] = connection
                return int(start)
        connection.close()
        return None

    def take(
        self, start: int, numbers: frozenset[int]
    ) -> dict[int, socket.socket] | None:
        """Returns the connections of a start once all of these are there."""
        waiting = self._announced.get(start, {})
        if not numbers <= waiting.keys():
            return None
        return self._announced.pop(start, {})

    def drop(self, start: int) -> None:
        """Closes what came for a start that is not wanted any more."""
        for connection in self._announced.pop(start, {}).values():
            connection.close()

    def close(self) -> None:
        """Listens no more, and removes the socket."""
        self.listener.close()
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

    def _refuse_one(self) -> None:
        os.close(self._reserve)
        try:
            self.listener.accept()[0].close()
        except OSError:
            pass
        self._reserve = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
