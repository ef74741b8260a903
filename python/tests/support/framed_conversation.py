"""The host's side of a conversation over the framed transport."""

from __future__ import annotations

import queue
import socket
import threading
from typing import Any

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.framed_transport.frame_parser import (
    FRAME,
    HEADER,
    SIGNAL,
    framed,
)
from support.compact_frames import compact, parse_worker_frame
from support.conversation import DEADLINE_S, Conversation

__all__ = ["FramedConversation", "FramedSocket"]

HEALTH = "/grpc.health.v1.Health/Check"
_STATUS = {True: b"\x08\x01", False: b"\x08\x02"}


class FramedSocket:
    """A connection that speaks in messages."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        # Without a time-out: with one it fails at once when many connect.
        self.socket.connect(path)
        self.socket.settimeout(DEADLINE_S)
        self._read = self.socket.makefile("rb")

    def say(self, **signal: Any) -> None:
        """Sends a signal."""
        data = pb.HostSignal(**signal).SerializeToString()
        self.socket.sendall(framed(SIGNAL, data))

    def send(self, **frame: Any) -> None:
        """Sends a frame; a plain call as a compact one, as the host does."""
        data = compact(**frame) or pb.HostFrame(**frame).SerializeToString()
        self.socket.sendall(framed(FRAME, data))

    def receive(self) -> pb.WorkerFrame | pb.WorkerSignal:
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
            return pb.WorkerSignal.FromString(data)
        return parse_worker_frame(data)

    def heard(self) -> pb.WorkerSignal:
        """Returns the next message, which is a signal."""
        message = self.receive()
        assert isinstance(message, pb.WorkerSignal), message
        return message

    def close(self) -> None:
        """Closes it."""
        self._read.close()
        self.socket.close()


class FramedConversation(Conversation):
    """A `Conversation` whose frames travel on the socket itself."""

    def __init__(self, path: str, token: str) -> None:
        self.connection = FramedSocket(path)
        self._signals: queue.Queue[pb.WorkerSignal] = queue.Queue()
        self._sending = threading.Lock()
        self._token = token
        super().__init__(path, token)

    def _open(self) -> None:
        self.channel.close()
        self.connection.say(hello=pb.Hello(token=self._token))
        welcome = self.connection.heard()
        if not welcome.HasField("welcome"):
            raise AssertionError(f"not welcome: {welcome}")
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, **frame: Any) -> None:
        with self._sending:
            self.connection.send(**frame)

    def say(self, **signal: Any) -> None:
        """Sends a signal."""
        with self._sending:
            self.connection.say(**signal)

    def unary(self, method: str, request: Any, answer: Any, **_: Any) -> Any:
        """Asks what gRPC has a method for."""
        if method == "Ping":
            self.say(ping=request or pb.PingRequest())
            return self._signals.get(timeout=DEADLINE_S).ping
        if method == "Describe":
            self.say(describe=pb.DescribeRequest())
            return self._signals.get(timeout=DEADLINE_S).describe
        if method == HEALTH:
            self.say(health=pb.HealthRequest())
            return _STATUS[self._signals.get(timeout=DEADLINE_S).health.serving]
        raise AssertionError(f"{method} is no signal")

    def half_close(self) -> None:
        self.say(leave=pb.Leave())

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
                if isinstance(message, pb.WorkerSignal):
                    if message.HasField("bye"):
                        break
                    self._signals.put(message)
                else:
                    self._take(message)
        except (EOFError, OSError, ValueError):
            pass
        self._incoming.put(None)
