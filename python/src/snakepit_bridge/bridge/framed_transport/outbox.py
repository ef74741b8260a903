"""Frames on their way to the host, written by the thread that has them."""

from __future__ import annotations

import _socket as socket
import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable

from snakepit_bridge.bridge.frame_codec import WELCOME, encode_frame, encode_signal
from snakepit_bridge.bridge.framed_transport.frame_parser import (
    FRAME,
    SIGNAL,
    framed,
)
from snakepit_bridge.bridge.transport import LogLimit
from snakepit_bridge.threads.bridge_loop import LoopWakeup, call_soon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.calls.run.running_call import TerminalFrame
    from snakepit_bridge.frames import Log, WorkerFrame
    from snakepit_bridge.threads.bridge_loop import Loop

# This much is written at once; a larger frame is written alone.
BATCH_BYTES = 256 << 10
# After this many answers of one turn, the first ones are sent, so that the host works
# on them while the worker makes the next ones.
MAX_HELD = 8
# How much the kernel keeps for the host to read. The usual 208 KiB hold three large
# chunks, so that both sides would wait for each other all the time. The kernel may
# allow less.
KERNEL_BYTES = 1 << 20


class _LogBytes(bytes):
    """A log record, which is counted when it is sent."""


class FramedOutbox:
    """An `Outbox` that the main thread and the bridge's thread write from.

    A thread that cannot write at once, because the other one is writing or because
    the socket is full, leaves its frame here for the other thread or for later: no
    thread waits, and no frame is cut in two.

    Attributes:
        held: whether the main thread gathers frames and will `flush` them, unless
            there are `MAX_HELD` of them before.
        announces: whether a relay has to know of an attachment before its frame.
        add: see `Outbox`.
    """

    most_held = MAX_HELD

    def __init__(self) -> None:
        """To be called in the main thread."""
        self.held = False
        self.announces = False
        self._waiting: deque[bytes | memoryview] = deque()
        # Answers that wait for the next ones; only the main thread uses them.
        self._added: list[bytes] = []
        self.add: Callable[[bytes], None] = self._added.append
        self._writing = threading.Lock()
        self._logs = LogLimit()
        self._main = threading.get_ident()
        self._bridge = 0
        self._loop: Loop | None = None
        self._socket: socket.socket | None = None
        self._writable_fd = -1
        self._full = False
        self._on_drained: Callable[[], None] | None = None

    # ------------------------------------------------ in any thread

    def put(self, frame: WorkerFrame) -> None:
        """Adds a frame."""
        data = self._message(frame)
        thread = threading.get_ident()
        if thread == self._main and self._added:
            self._take_added()
        self._waiting.append(data)
        if thread == self._main:
            if not self.held or len(self._waiting) >= MAX_HELD:
                self.flush()
        elif thread == self._bridge:
            self.flush()
        elif self._loop is not None:
            # A tool's thread can be interrupted while it holds the lock.
            call_soon(self._loop, self.flush)

    def put_last(self, frame: TerminalFrame) -> None:
        """Adds the terminal frame of a call; this thread cannot be interrupted now."""
        waiting = self._waiting
        if not isinstance(frame, bytes):
            frame = self._message(frame)
        in_main = threading.get_ident() == self._main
        if in_main and self._added:
            self._take_added()
        waiting.append(frame)
        if not self.held or len(waiting) >= MAX_HELD or not in_main:
            self.flush()

    def send_added(self) -> None:
        """See `Outbox`."""
        if self._added:
            # What `_take_added` does.
            self._waiting.append(b"".join(self._added))
            self._added.clear()
        self.flush()

    def _take_added(self) -> None:
        self._waiting.append(b"".join(self._added))
        # Second: if this is interrupted before, the host gets answers twice, and ignores
        # those of calls that are over.
        self._added.clear()

    def _message(self, frame: WorkerFrame) -> bytes:
        message = framed(FRAME, encode_frame(frame))
        if not self.announces:
            return message
        # Few workers have a relay, and each import makes every start slower.
        from snakepit_bridge.bridge.framed_transport.sideband import BYTES, announced

        part = announced(frame)
        return message if part is None else framed(BYTES, part.head()) + message

    @property
    def logs_waiting(self) -> int:
        """How many log records have not been sent yet."""
        return self._logs.waiting

    def put_log(self, log: Log) -> bool:
        """Adds a log record, unless too many wait; returns whether it was added."""
        if not self._logs.admit(log):
            return False
        self._waiting.append(_LogBytes(framed(FRAME, encode_frame(log))))
        # Through the loop: code may log anywhere, even in a destructor.
        if self._loop is not None:
            call_soon(self._loop, self.flush)
        return True

    def put_signal(self, signal: bytes) -> None:
        """Adds a signal; in the main thread or the bridge's."""
        self._waiting.append(framed(SIGNAL, signal))
        self.flush()

    def flush(self) -> None:
        """Writes waiting frames, as far as the socket accepts them."""
        waiting, writing = self._waiting, self._writing
        while waiting and not self._full and (connection := self._socket) is not None:
            if writing.locked():
                # The writing thread checks again when it has finished.
                return
            # Not `acquire`: a thread interrupted right after it would keep the lock.
            with writing:
                connection = self._socket
                if connection is None or not waiting:
                    # The other thread has just closed it, or written everything. Check
                    # again: frames that came since then were left to the thread that
                    # holds the lock.
                    continue
                data = waiting.popleft()
                # A single answer, as of most calls, is neither a log record nor what is
                # left of a batch.
                is_single = not waiting and type(data) is bytes
                if not is_single:
                    data = self._batch_of(data)
                try:
                    sent = connection.send(data)
                except BlockingIOError:
                    sent = 0
                except OSError:
                    self._broken(connection)
                    break
                if sent != len(data):
                    self._written_in_part(data, sent)
                elif not is_single:
                    self._logs.sent()
        if self._on_drained is not None:
            self._on_drained()

    def _broken(self, connection: socket.socket) -> None:
        self._socket = None
        self._waiting.clear()
        # The reading side notices this and ends the conversation. The connection may
        # have been whole, and the kernel without memory for the frame.
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    def _written_in_part(self, data: bytes | memoryview, sent: int) -> None:
        self._waiting.appendleft(memoryview(data)[sent:])
        self._full = True
        if self._loop is not None:
            call_soon(self._loop, self._await_room)

    def _batch_of(self, first: bytes | memoryview) -> bytes | memoryview:
        """Returns a frame together with the frames that wait behind it."""
        waiting = self._waiting
        if isinstance(first, _LogBytes):
            self._logs.taken()
        size = len(first)
        if not waiting or size >= BATCH_BYTES:
            return first
        parts = [first]
        while waiting and size < BATCH_BYTES:
            part = waiting.popleft()
            if isinstance(part, _LogBytes):
                self._logs.taken()
            parts.append(part)
            size += len(part)
        return b"".join(parts)

    # ------------------------------------------------ in the bridge's thread

    def attach(self, loop: Loop) -> None:
        """Sets the loop of the bridge's thread."""
        self._loop = loop
        self._bridge = threading.get_ident()

    def open(self, connection: socket.socket) -> None:
        """Starts writing, with the welcome to the host."""
        self._waiting.appendleft(framed(SIGNAL, encode_signal(WELCOME)))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES)
        # Its own descriptor: the one for reading is shared between selectors.
        self._writable_fd = os.dup(connection.fileno())
        self._socket = connection
        self.flush()

    async def drained(self, timeout: float) -> None:
        """Waits until everything is written or the connection is gone, up to some
        seconds.
        """
        if self._loop is None:
            return
        drained = LoopWakeup(self._loop)
        self._on_drained = drained.notify
        self.flush()
        await drained.wait(
            lambda: not (self._waiting or self._added) or self._socket is None, timeout
        )

    def close(self) -> None:
        """Stops writing."""
        self._socket = None
        if self._loop is not None and self._writable_fd >= 0:
            self._loop.remove_writer(self._writable_fd)
            os.close(self._writable_fd)
            self._writable_fd = -1

    def _await_room(self) -> None:
        if self._loop is not None and self._writable_fd >= 0 and self._full:
            self._loop.add_writer(self._writable_fd, self._room)

    def _room(self) -> None:
        self._full = False
        self.flush()
        if not self._full and self._loop is not None:
            self._loop.remove_writer(self._writable_fd)
