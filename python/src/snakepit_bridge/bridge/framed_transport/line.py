"""The reading side of the conversation's connection."""

from __future__ import annotations

import socket
import threading
from typing import Protocol

from google.protobuf.message import DecodeError

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.framed_transport.frame_parser import (
    FRAME,
    FrameParser,
    Malformed,
)

__all__ = ["Line", "LineListener"]

READ_BYTES = 64 << 10


class LineListener(Protocol):
    """Hears what the host says, in whichever thread has read it."""

    def frame(self, frame: pb.HostFrame) -> None:
        """A frame of the conversation came."""

    def signal(self, signal: pb.HostSignal) -> None:
        """A signal came."""

    def over(self, problem: str | None) -> None:
        """Nothing more comes, said once: with what was wrong with what came last."""


class Line:
    """Reads, in one thread at a time.

    Attributes:
        reading: held by the thread that reads, and acts on what it has read.
    """

    def __init__(
        self, connection: socket.socket, limit: int, listener: LineListener
    ) -> None:
        self.reading = threading.Lock()
        self._connection = connection
        self._parser = FrameParser(limit)
        self._listener = listener
        self._is_over = False

    def read(self) -> None:
        """Reads everything there is, and acts on it. Waits for another reader.

        The conversation is over when the handler of a signal raises in its midst:
        what was read then may be lost, and its host would wait.
        """
        with self.reading:
            try:
                while not self._is_over and self._read_some():
                    pass
            except BaseException:
                if not self._is_over:
                    self._end(None)
                raise

    def _read_some(self) -> bool:
        """Returns whether there may be more."""
        try:
            data = self._connection.recv(READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._end(None)
            return False
        listener = self._listener
        try:
            for kind, body in self._parser.feed(data):
                if kind == FRAME:
                    listener.frame(pb.HostFrame.FromString(body))
                else:
                    listener.signal(pb.HostSignal.FromString(body))
        except Malformed as error:
            self._end(str(error))
        except DecodeError as error:
            self._end(f"a message that cannot be decoded: {error}")
        return len(data) == READ_BYTES

    def _end(self, problem: str | None) -> None:
        self._is_over = True
        self._listener.over(problem)
