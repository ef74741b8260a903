"""The worker's side of the framed transport."""

from __future__ import annotations

import asyncio
import functools
import socket
from collections.abc import Callable, Collection

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.boot.launch_message import Launch
from snakepit_bridge.bridge.answers import Answers
from snakepit_bridge.bridge.call_soon import call_soon
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.bridge.conversation import Conversation
from snakepit_bridge.bridge.framed_transport.line import Line
from snakepit_bridge.bridge.framed_transport.outbox import FramedOutbox
from snakepit_bridge.bridge.framed_transport.reception import Reception
from snakepit_bridge.calls.cancelled import CancelReason

__all__ = ["FramedTransport"]

# Has descriptors read, and returns what ends that; in the bridge's thread.
ReadWith = Callable[[Collection[int], Callable[[], None]], Callable[[], None]]


class FramedTransport:
    """A `Transport`: frames with a header each, straight on the socket."""

    def __init__(
        self,
        launch: Launch,
        loop: asyncio.AbstractEventLoop,
        conversation: Conversation,
        calls: CallTable,
        answers: Answers,
        outbox: FramedOutbox,
        on_host_left: Callable[[bool], None],
        read_with: ReadWith,
    ) -> None:
        self._loop = loop
        self._conversation = conversation
        self._calls = calls
        self._answers = answers
        self._outbox = outbox
        self._on_host_left = on_host_left
        self._read_with = read_with
        self._limit = launch.max_message_bytes
        self._reception = Reception(loop, launch.socket, launch.token, self._admit)
        self._connection: socket.socket | None = None
        self._line: Line | None = None
        self._read_no_more: Callable[[], None] = lambda: None

    async def start(self) -> None:
        """Listens.

        Raises:
            OSError: the socket cannot be used.
        """
        self._outbox.attach(self._loop)
        self._reception.open()

    def leave(self) -> None:
        """Refuses calls, and says that it does not serve."""
        self._reception.is_serving = False
        if self._line is None:
            self._conversation.leave()
            return
        # A call is either taken before this, and seen to, or refused after it.
        with self._line.reading:
            self._conversation.leave()

    async def finish(self, timeout: float) -> None:
        """Writes what is left to write and ends the conversation, in order."""
        bye = pb.Bye(reason=pb.BYE_REASON_LEFT, message="the worker left")
        await self._say_bye(bye, timeout)

    async def stop(self) -> None:
        """Lets go of the socket."""
        self._reception.close()
        self._hang_up()

    # ------------------------------------------------ in the bridge's thread

    def _admit(self, connection: socket.socket) -> str | None:
        if self._line is not None:
            return "the conversation of this worker is open already"
        line = Line(connection, self._limit, self)
        self._connection = connection
        self._line = line
        self._outbox.open(connection)
        self._read_no_more = self._read_with((connection.fileno(),), line.read)
        return None

    async def _say_bye(self, bye: pb.Bye, timeout: float) -> None:
        if self._connection is None:
            return
        self._outbox.put_signal(pb.WorkerSignal(bye=bye))
        try:
            await asyncio.wait_for(self._outbox.drained(), timeout)
        except asyncio.TimeoutError:
            # The host does not read any more.
            pass
        self._hang_up()

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        self._read_no_more()
        self._outbox.close()
        # A child of a tool may hold the descriptor, too.
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        connection.close()

    def _ended(self, problem: str | None) -> None:
        self._read_no_more()
        self._read_no_more = lambda: None
        # What still runs has nobody to answer to.
        self._calls.cancel_all(CancelReason.SHUTDOWN)
        self._on_host_left(True)
        if problem is not None:
            bye = pb.Bye(reason=pb.BYE_REASON_MALFORMED, message=problem)
            self._outbox.put_signal(pb.WorkerSignal(bye=bye))

    # ------------------------------------------------ in the thread that reads

    def frame(self, frame: pb.HostFrame) -> None:
        """A frame of the conversation came."""
        self._conversation.receive(frame)

    def signal(self, signal: pb.HostSignal) -> None:
        """A signal came."""
        kind = signal.WhichOneof("signal")
        if kind == "ping":
            answer = pb.WorkerSignal(ping=self._answers.ping(signal.ping))
        elif kind == "describe":
            answer = pb.WorkerSignal(describe=self._answers.describe())
        elif kind == "health":
            health = pb.HealthResponse(serving=self._reception.is_serving)
            answer = pb.WorkerSignal(health=health)
        else:
            if kind == "leave":
                call_soon(self._loop, functools.partial(self._on_host_left, False))
            return
        self._outbox.put_signal(answer)

    def over(self, problem: str | None) -> None:
        """Nothing more comes."""
        call_soon(self._loop, functools.partial(self._ended, problem))
