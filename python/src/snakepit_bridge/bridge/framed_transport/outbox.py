"""Frames on their way to the host, written by whoever has them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections import deque
from collections.abc import Callable

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.call_soon import call_soon
from snakepit_bridge.bridge.framed_transport.frame_parser import FRAME, SIGNAL, framed
from snakepit_bridge.bridge.transport import MAX_HELD, MAX_LOGS

__all__ = ["FramedOutbox"]

# So much is written at once; a larger frame goes alone.
BATCH_BYTES = 256 << 10
# What the kernel keeps for the host to read: the usual 208 KiB are three large
# chunks, and both sides would take turns for each. It may allow less.
KERNEL_BYTES = 1 << 20


class _LogBytes(bytes):
    """A record, to be counted when it leaves."""


class FramedOutbox:
    """An `Outbox` that the main thread and the bridge's write from themselves.

    Whoever cannot write at once - because the other does, or because the socket
    is full - leaves it to them: nobody waits here, and no frame is cut in two.

    Attributes:
        held: whether the main thread gathers frames and will `flush` them, unless
            there are `MAX_HELD` of them before.
    """

    def __init__(self) -> None:
        """To be made in the main thread."""
        self.held = False
        self._waiting: deque[bytes | memoryview] = deque()
        self._writing = threading.Lock()
        # Each is written under one lock only: that of `logging`, and `_writing`.
        self._logs_put = 0
        self._logs_sent = 0
        self._dropped = 0
        self._main = threading.get_ident()
        self._bridge = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._socket: socket.socket | None = None
        self._writable_fd = -1
        self._full = False
        self._on_drained: Callable[[], None] | None = None

    # ------------------------------------------------ in any thread

    def put(self, frame: pb.WorkerFrame) -> None:
        """Adds a frame."""
        self._waiting.append(framed(FRAME, frame.SerializeToString()))
        thread = threading.get_ident()
        if thread == self._main:
            if not self._holds_back():
                self.flush()
        elif thread == self._bridge:
            self.flush()
        elif self._loop is not None:
            # A tool's thread: it can be interrupted, with the lock taken.
            call_soon(self._loop, self.flush)

    def put_last(self, frame: pb.WorkerFrame) -> None:
        """Adds the terminal frame of a call: nothing interrupts this thread now."""
        self._waiting.append(framed(FRAME, frame.SerializeToString()))
        if threading.get_ident() != self._main or not self._holds_back():
            self.flush()

    @property
    def logs_waiting(self) -> int:
        """How many records have not been sent yet."""
        return self._logs_put - self._logs_sent

    def put_log(self, log: pb.Log) -> bool:
        """Adds a record, unless too many wait; returns whether it did."""
        if self._logs_put - self._logs_sent >= MAX_LOGS:
            self._dropped += 1
            return False
        if self._dropped:
            log.message += f" [{self._dropped} records before this one were dropped]"
            self._dropped = 0
        self._logs_put += 1
        data = pb.WorkerFrame(log=log).SerializeToString()
        self._waiting.append(_LogBytes(framed(FRAME, data)))
        # By way of the loop: whoever logs may do so anywhere, in a destructor too.
        if self._loop is not None:
            call_soon(self._loop, self.flush)
        return True

    def put_signal(self, signal: pb.WorkerSignal) -> None:
        """Adds what is beside the conversation; in the main or the bridge's thread."""
        self._waiting.append(framed(SIGNAL, signal.SerializeToString()))
        self.flush()

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self._waiting

    def _holds_back(self) -> bool:
        return self.held and len(self._waiting) < MAX_HELD

    def flush(self) -> None:
        """Writes what waits, as far as the socket takes it."""
        while self._waiting and not self._full and self._socket is not None:
            if self._writing.locked():
                # Who writes looks again when it is done.
                return
            # Not by `acquire`: interrupted behind that, a thread would keep the lock.
            with self._writing:
                self._write()

    def _write(self) -> None:
        connection = self._socket
        if connection is None:
            # Until a moment ago somebody else wrote, or closed it.
            return
        data = self._gather()
        try:
            sent = connection.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._socket = None
            self._waiting.clear()
            # The reading side notices, and ends the conversation: also where the
            # connection was whole, and the kernel had no memory for the frame.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            return
        if sent < len(data):
            self._waiting.appendleft(memoryview(data)[sent:])
            self._full = True
            if self._loop is not None:
                call_soon(self._loop, self._await_room)

    def _gather(self) -> bytes | memoryview:
        parts: list[bytes | memoryview] = []
        size = 0
        while self._waiting and size < BATCH_BYTES:
            part = self._waiting.popleft()
            if isinstance(part, _LogBytes):
                self._logs_sent += 1
            parts.append(part)
            size += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    # ------------------------------------------------ in the bridge's thread

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Names the loop of the bridge's thread."""
        self._loop = loop
        self._bridge = threading.get_ident()

    def open(self, connection: socket.socket) -> None:
        """Begins to write: first that the host is welcome."""
        welcome = pb.WorkerSignal(welcome=pb.Welcome())
        self._waiting.appendleft(framed(SIGNAL, welcome.SerializeToString()))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES)
        # A descriptor of its own: that of the reading is shared between selectors.
        self._writable_fd = connection.dup().detach()
        self._socket = connection
        self.flush()

    async def drained(self) -> None:
        """Waits until nothing is left to write, or nobody to write to."""
        loop = asyncio.get_running_loop()
        drained = asyncio.Event()
        self._on_drained = lambda: call_soon(loop, drained.set)
        self.flush()
        while self._waiting and self._socket is not None:
            await drained.wait()
            drained.clear()

    def close(self) -> None:
        """Writes no more."""
        self._socket = None
        if self._loop is not None and self._writable_fd >= 0:
            self._loop.remove_writer(self._writable_fd)
            socket.close(self._writable_fd)
            self._writable_fd = -1

    def _await_room(self) -> None:
        if self._loop is not None and self._writable_fd >= 0 and self._full:
            self._loop.add_writer(self._writable_fd, self._room)

    def _room(self) -> None:
        self._full = False
        self.flush()
        if not self._full and self._loop is not None:
            self._loop.remove_writer(self._writable_fd)
        if self._on_drained is not None:
            self._on_drained()
