"""The protocol of a host and what forks workers for it, which the native guard speaks as well.

A frame is four bytes of length, big-endian, then that many bytes. The frames of the host
are requests, those to the host are JSON objects: `held`, `running`, `failed` and `exited`.

All numbers are big-endian. The first byte of a request names it. Four bytes of id follow,
but for `end`; with a start also one byte, whose bit n is set if the worker gets a
connection as its descriptor n, four bytes with the number of arguments, four with that of
variables, and strings, each of which ends with a NUL: label, executable, working directory,
the arguments, and the variables as NAME=VALUE.

Node cannot pass a descriptor to another process. So it connects once for each descriptor to
a private socket, and sends a header with the start and the descriptor's number; from then on
the connection belongs to the worker.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import struct

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


# Descriptors that a worker can have, and their numbers. Without `stdin` it is empty.
DESCRIPTORS = {"stdin": 0, "stdout": 1, "stderr": 2, "control": 3}


class Start:
    """Fork a held worker with these descriptors, that reads these arguments."""

    __slots__ = ("args", "cwd", "descriptors", "env", "id")

    def __init__(
        self,
        id: int,
        args: list[bytes],
        env: dict[bytes, bytes],
        cwd: bytes,
        descriptors: frozenset[int],
    ) -> None:
        self.id = id
        self.args = args
        self.env = env
        self.cwd = cwd
        self.descriptors = descriptors


class About:
    """A request about a worker that was started.

    Attributes:
        what: `go`: it is recorded, let it run. `discard`: kill it and do not report it.
            `reap`: its end was recorded, free its pid.
        id: The number of its start.
    """

    __slots__ = ("id", "what")

    def __init__(self, request: str, id: int) -> None:
        self.what = request
        self.id = id


class End:
    """The run has ended: kill what is left, and exit."""

    __slots__ = ()


_START, _END = 1, 5
_ABOUT = {2: "go", 3: "discard", 4: "reap"}
_HEAD = struct.Struct(">BI")
_START_HEAD = struct.Struct(">BIBII")
_ALL_DESCRIPTORS = sum(1 << number for number in DESCRIPTORS.values())


def parse_request(body: bytes) -> Start | About | End:
    """Checks a request of the host.

    Raises:
        FrameError: It is not a request.
    """
    kind = body[0] if body else 0
    if kind == _START:
        return _start(body)
    if kind in _ABOUT and len(body) == _HEAD.size:
        return About(_ABOUT[kind], _HEAD.unpack(body)[1])
    if kind == _END and len(body) == 1:
        return End()
    raise FrameError(f"an unknown request: {body[:20]!r}")


def _start(body: bytes) -> Start:
    if len(body) <= _START_HEAD.size or body[-1] != 0:
        raise FrameError("a start that is cut")
    _, id, descriptors, argument_count, variable_count = _START_HEAD.unpack_from(body)
    strings = body[_START_HEAD.size : -1].split(b"\0")
    if len(strings) != 3 + argument_count + variable_count:
        raise FrameError(f"a start with {len(strings)} strings")
    if descriptors & ~_ALL_DESCRIPTORS:
        raise FrameError("a start with unknown descriptors")
    # A preloaded parent has no use for the label, nor for the name of the program.
    _label, _executable, cwd, *rest = strings
    return Start(
        id=id,
        args=rest[:argument_count],
        env=dict(map(_variable, rest[argument_count:])),
        cwd=cwd,
        descriptors=frozenset(
            number for number in DESCRIPTORS.values() if descriptors >> number & 1
        ),
    )


def _variable(text: bytes) -> tuple[bytes, bytes]:
    name, sign, value = text.partition(b"=")
    if not name or not sign:
        raise FrameError("a variable without a name")
    return name, value


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


# The start and the descriptor. Only these bytes are read: the next ones are the worker's.
HEADER = struct.Struct(">IB")
_PEER = struct.Struct("iII")
_OURS = frozenset(DESCRIPTORS.values())
_FULL = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
# Connections without a header; the host sends the header immediately.
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
