"""The host's side of a conversation over the framed transport."""

from __future__ import annotations

import queue
import socket
import sys
import threading
from typing import Any, NamedTuple

import msgpack

from snakepit_bridge._version import __version__
from snakepit_bridge.bridge.framed_transport.frame_parser import (
    FRAME,
    HEADER,
    SIGNAL,
    framed,
)
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.grpc_transport.messages import description
from snakepit_bridge.frames import ToolDescription
from support.conversation import DEADLINE_S, Conversation
from support.packed_frames import packed, parse_worker_frame

HEALTH = "/grpc.health.v1.Health/Check"
_STATUS = {True: b"\x08\x01", False: b"\x08\x02"}


# The signals of a host; their answers have the same numbers.
HELLO, PING, DESCRIBE, HEALTH_CHECK, LEAVE = 1, 2, 3, 4, 5
WELCOME, BYE = 1, 5


class Signal(NamedTuple):
    """A signal of a worker."""

    kind: int
    values: list[Any]


class FramedSocket:
    """A connection that speaks in messages."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        # Without a time-out: with one it fails at once when many connect.
        self.socket.connect(path)
        self.socket.settimeout(DEADLINE_S)
        self._read = self.socket.makefile("rb")

    def say(self, kind: int, *values: object) -> None:
        """Sends a signal."""
        self.socket.sendall(framed(SIGNAL, msgpack.packb([kind, *values])))

    def send(self, **frame: Any) -> None:
        """Sends a frame."""
        self.socket.sendall(framed(FRAME, packed(pb.HostFrame(**frame))))

    def receive(self) -> pb.WorkerFrame | Signal:
        """Returns the next message.

        Raises:
            EOFError: there is none any more.
        """
        header = self._read.read(HEADER.size)
        if len(header) < HEADER.size:
            raise EOFError
        kind, length = HEADER.unpack(header)
        data = self._read.read(length)
        if kind == SIGNAL:
            number, *values = msgpack.unpackb(data)
            return Signal(number, values)
        return parse_worker_frame(data)

    def heard(self) -> Signal:
        """Returns the next message, which is a signal."""
        message = self.receive()
        assert isinstance(message, Signal), message
        return message

    def close(self) -> None:
        """Closes it."""
        self._read.close()
        self.socket.close()


class FramedConversation(Conversation):
    """A `Conversation` whose frames travel on the socket itself."""

    def __init__(self, path: str, token: str) -> None:
        self.connection = FramedSocket(path)
        self._signals: queue.Queue[Signal] = queue.Queue()
        self._sending = threading.Lock()
        self._token = token
        super().__init__(path, token)

    def _open(self) -> None:
        self.channel.close()
        self.connection.say(HELLO, self._token)
        welcome = self.connection.heard()
        if welcome.kind != WELCOME:
            raise AssertionError(f"not welcome: {welcome}")
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, **frame: Any) -> None:
        with self._sending:
            self.connection.send(**frame)

    def say(self, kind: int, *values: object) -> None:
        """Sends a signal."""
        with self._sending:
            self.connection.say(kind, *values)

    def ask(self, kind: int, *values: object) -> list[Any]:
        """Returns the answer to a signal."""
        self.say(kind, *values)
        return self._signals.get(timeout=DEADLINE_S).values

    def unary(self, method: str, request: Any, answer: Any, **_: Any) -> Any:
        """Asks what gRPC has a method for."""
        if method == "Ping":
            sequence, running, cpu = self.ask(PING, request.sequence if request else 0)
            return pb.PingResponse(
                sequence=sequence, calls_running=running, cpu_time_us=cpu
            )
        if method == "Describe":
            tools = [ToolDescription(*tool) for tool in self.ask(DESCRIBE)[0]]
            return pb.DescribeResponse(
                tools=map(description, tools),
                bridge_version=__version__,
                python_version=sys.version.split()[0],
            )
        if method == HEALTH:
            return _STATUS[self.ask(HEALTH_CHECK)[0]]
        raise AssertionError(f"{method} is no signal")

    def half_close(self) -> None:
        self.say(LEAVE)

    def close(self) -> None:
        self.reads.set()
        try:
            self.connection.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            # The worker was first.
            pass
        self._reader.join(DEADLINE_S)
        self.connection.close()

    def _read(self) -> None:
        try:
            while True:
                message = self.connection.receive()
                self.reads.wait()
                if isinstance(message, Signal):
                    if message.kind == BYE:
                        break
                    self._signals.put(message)
                else:
                    self._take(message)
        except (EOFError, OSError, ValueError):
            pass
        self._incoming.put(None)
