"""The framed transport: frames with a header each, directly on the worker's socket."""

from __future__ import annotations

import _socket as socket
import functools
import threading
from collections.abc import Callable

from snakepit_bridge.boot.launch_message import Launch
from snakepit_bridge.bridge.conversation import Conversation
from snakepit_bridge.bridge.frame_codec import (
    BYE,
    DESCRIPTION,
    HEALTH,
    PING,
    decode_signal,
    encode_signal,
)
from snakepit_bridge.bridge.framed_transport.frame_parser import (
    FRAME,
    FrameParser,
    Malformed,
)
from snakepit_bridge.bridge.framed_transport.outbox import FramedOutbox
from snakepit_bridge.bridge.framed_transport.reception import Reception
from snakepit_bridge.frames import Undecodable
from snakepit_bridge.threads.bridge_loop import BridgeLoop, call_soon
from snakepit_bridge.threads.main_thread import MainThread
from snakepit_bridge.threads.shared_reading import SharedReading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from snakepit_bridge.threads.bridge_loop import Loop

READ_BYTES = 64 << 10


class FramedParts:
    """`TransportParts` of the framed transport."""

    def __init__(self) -> None:
        self.outbox = FramedOutbox()
        self.main = MainThread()
        self._reading = SharedReading(self.main, BridgeLoop)
        self.bridge_loop = self._reading.bridge_loop

    def transport(
        self,
        launch: Launch,
        loop: Loop,
        conversation: Conversation,
        on_host_left: Callable[[bool], None],
    ) -> FramedTransport:
        """Returns what listens on the socket."""
        self.outbox.announces = launch.is_relayed
        running = conversation.calls.running
        self.main.coalescer.begin(self.outbox, loop, lambda: len(running) > 1)
        return FramedTransport(
            launch, loop, conversation, self.outbox, on_host_left, self._reading
        )


class FramedTransport:
    """Reads in whichever thread is free, one at a time; see `Transport`."""

    def __init__(
        self,
        launch: Launch,
        loop: Loop,
        conversation: Conversation,
        outbox: FramedOutbox,
        on_host_left: Callable[[bool], None],
        reading: SharedReading,
    ) -> None:
        self._loop = loop
        self._conversation = conversation
        self._take_calls = conversation.take_calls
        self._outbox = outbox
        self._on_host_left = on_host_left
        self._reading = reading
        self._reception = Reception(loop, launch.socket, launch.token, self._admit)
        self._parser = FrameParser(launch.max_message_bytes)
        self._connection: socket.socket | None = None
        # Held by the thread that reads, and acts on what it has read.
        self._lock = threading.Lock()
        self._is_admitted = False
        self._is_over = False

    # ------------------------------------------------ in the bridge's thread

    async def start(self) -> None:
        """Listens.

        Raises:
            OSError: the socket cannot be used.
        """
        self._outbox.attach(self._loop)
        self._reception.open()

    def leave(self) -> None:
        """Refuses calls, and reports that it does not serve."""
        self._reception.is_serving = False
        # A call is either accepted before this and will be answered, or refused.
        with self._lock:
            self._conversation.leave()

    async def finish(self, timeout: float) -> None:
        """Writes the remaining frames, then ends the conversation."""
        if self._connection is None:
            return
        self._outbox.put_signal(encode_signal(BYE, "LEFT", "the worker left"))
        # If the host no longer reads, the remaining frames are lost.
        await self._outbox.drained(timeout)
        self._hang_up()

    async def stop(self) -> None:
        """Closes the socket."""
        self._reception.close()
        self._hang_up()

    def _admit(self, connection: socket.socket) -> str | None:
        if self._is_admitted:
            return "the conversation of this worker is open already"
        self._is_admitted = True
        self._connection = connection
        self._outbox.open(connection)
        self._reading.begin((connection.fileno(),), self._read)
        return None

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        self._reading.end()
        self._outbox.close()
        # `close` alone is not enough: a child of a tool may also hold the descriptor.
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        connection.close()

    def _host_left(self, problem: str | None) -> None:
        self._reading.end()
        from snakepit_bridge.calls.cancel.cancel_reason import CancelReason

        # The answers of calls that still run cannot be sent.
        self._conversation.calls.cancel_all(CancelReason.SHUTDOWN)
        self._on_host_left(True)
        if problem is not None:
            self._outbox.put_signal(encode_signal(BYE, "MALFORMED", problem))

    # ------------------------------------------------ in the thread that reads

    def _read(self) -> None:
        """Reads all available bytes and acts on them, after any other reader. If a
        signal handler raises meanwhile, the conversation is over: frames that were read
        may be lost, and the host would wait for their answers.
        """
        with self._lock:
            try:
                while self._read_some():
                    pass
            except BaseException:
                if not self._is_over:
                    self._end(None)
                raise

    def _read_some(self) -> bool:
        """Returns whether there may be more."""
        if self._is_over:
            return False
        connection = self._connection
        try:
            data = b"" if connection is None else connection.recv(READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        size = len(data)
        at = 0
        if size and not self._parser.is_within:
            at = self._take_calls(data)
        if at < size:
            self._receive(data[at:] if at else data)
        elif not size:
            self._end(None)
            return False
        return size == READ_BYTES

    def _receive(self, data: bytes) -> None:
        receive = self._conversation.receive
        try:
            for kind, body in self._parser.feed(data):
                if kind == FRAME:
                    receive(body)
                else:
                    self._signal(*decode_signal(body))
        except Malformed as error:
            self._end(str(error))
        except Undecodable as error:
            self._end(f"a message that cannot be decoded: {error}")

    def _end(self, problem: str | None) -> None:
        self._is_over = True
        call_soon(self._loop, functools.partial(self._host_left, problem))

    def _signal(self, kind: str | None, values: list[Any]) -> None:
        if kind == "ping":
            answer = encode_signal(PING, *values, *self._conversation.ping())
        elif kind == "describe":
            # Few hosts ask for it.
            from snakepit_bridge.bridge.describe import describe

            answer = encode_signal(DESCRIPTION, describe(self._conversation.tools))
        elif kind == "health":
            answer = encode_signal(HEALTH, self._reception.is_serving)
        else:
            if kind == "leave":
                self._on_host_left(False)
            return
        self._outbox.put_signal(answer)
