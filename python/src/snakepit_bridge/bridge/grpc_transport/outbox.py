"""Frames on their way to the host, sent by gRPC's loop."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import TYPE_CHECKING

from snakepit_bridge.bridge.grpc_transport.messages import worker_message
from snakepit_bridge.bridge.grpc_transport.stepped_loop import SteppedLoop
from snakepit_bridge.bridge.transport import LogLimit
from snakepit_bridge.calls.run.compact_result import HEADER_BYTES

if TYPE_CHECKING:
    from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
    from snakepit_bridge.calls.run.running_call import TerminalFrame
    from snakepit_bridge.frames import Log, WorkerFrame

# A message costs gRPC more than a small frame does, so waiting frames are sent
# together, up to this size. A larger frame is sent alone, because copying it would cost
# more.
BATCH_BYTES = 64 << 10
ALONE_BYTES = 16 << 10
# The most answers that wait to be sent together.
MAX_HELD = 32
# Number, kind and length of a frame in a batch, or of the batch, at most.
AROUND_BYTES = 6

# The field `batch` of a frame and the field `frames` in it: number and kind.
_BATCH = b"\x52"
_FRAME = b"\x0a"


class GrpcOutbox:
    """An `Outbox` that one task of gRPC's loop empties.

    `_filled` is set while that task is going to look at the frames before it waits
    again: it clears `_filled` first and looks second, so a frame that is added
    before `_filled` is checked needs no further wake-up.

    Attributes:
        held: whether the main thread gathers frames and will `flush` them.
    """

    most_held = MAX_HELD

    def __init__(self) -> None:
        """To be called in the main thread."""
        self.held = False
        self._frames: deque[pb.WorkerFrame | bytes] = deque()
        # Serialised, and too large for the batch before it.
        self._next: bytes | None = None
        self._logs = LogLimit()
        self._main = threading.get_ident()
        self._stepped: SteppedLoop | None = None
        self._is_waking = False
        self._filled = asyncio.Event()
        self._closed = False
        self._batch_bytes = 0

    def attach(self, stepped: SteppedLoop, limit: int) -> None:
        """Sets the loop that sends the frames, and the limit of one message; until
        then the frames wait."""
        self._stepped = stepped
        self._batch_bytes = min(limit, BATCH_BYTES) - AROUND_BYTES

    def put(self, frame: WorkerFrame) -> None:
        """Adds a frame."""
        # Here, not in the loop: a frame that cannot be one fails the code that sends it.
        self._frames.append(worker_message(frame))
        if self._filled.is_set():
            return
        if threading.get_ident() == self._main:
            if not self.held:
                self._wake()
        elif self._stepped is not None:
            # A tool's thread can be interrupted between any two steps of `_wake`.
            self._stepped.call_soon(self._filled.set)

    def put_last(self, frame: TerminalFrame) -> None:
        """Adds the terminal frame of a call; this thread cannot be interrupted now."""
        self._frames.append(
            frame[HEADER_BYTES:] if isinstance(frame, bytes) else worker_message(frame)
        )
        if self._filled.is_set():
            return
        if threading.get_ident() != self._main:
            self._wake()
        elif not self.held:
            if asyncio._get_running_loop() is None:
                self.flush()
            else:
                self._wake()

    def add(self, frame: bytes) -> None:
        """See `Outbox`."""
        self._frames.append(frame[HEADER_BYTES:])

    def send_added(self) -> None:
        """See `Outbox`."""
        self.flush()

    def put_first(self, frame: pb.WorkerFrame) -> None:
        """Adds a frame before all others; in a turn of the loop."""
        self._frames.appendleft(frame)
        self._filled.set()

    @property
    def logs_waiting(self) -> int:
        """How many log records have not been sent yet."""
        return self._logs.waiting

    def put_log(self, log: Log) -> bool:
        """Adds a log record, unless too many wait; returns whether it was added."""
        if not self._logs.admit(log):
            return False
        self.put(log)
        return True

    def flush(self) -> None:
        """Sends waiting frames, in this thread: the main thread or the bridge's."""
        if self._frames and not self._filled.is_set() and self._stepped is not None:
            self._stepped.call_now(self._woken)

    def close(self) -> None:
        """Makes `take` return None once all frames are taken."""
        self._closed = True
        self._filled.set()

    def _wake(self) -> None:
        """Wakes the task, once for all frames that are added before it runs."""
        if not self._is_waking and self._stepped is not None:
            try:
                self._is_waking = True
                self._stepped.call_soon(self._woken)
            except BaseException:
                # A signal handler interrupted the tool that sends.
                self._is_waking = False
                raise

    # ------------------------------------------------ in a turn of the loop

    def _woken(self) -> None:
        # The order matters: a frame that is added from here on wakes the task again.
        self._is_waking = False
        self._filled.set()

    async def take(self) -> bytes | None:
        """Returns the next frame, or a batch of all small frames that wait."""
        # The frames taken before have been written: the task asks for more.
        self._logs.sent()
        while not self._frames and self._next is None:
            if self._closed:
                return None
            self._filled.clear()
            if not self._frames:
                await self._filled.wait()
        first = self._take_one()
        if not self._frames or len(first) > ALONE_BYTES:
            return first
        frames = [first]
        size = len(first) + AROUND_BYTES
        while self._frames:
            frame = self._take_one()
            size += len(frame) + AROUND_BYTES
            if len(frame) > ALONE_BYTES or size > self._batch_bytes:
                self._next = frame
                break
            frames.append(frame)
        return first if len(frames) == 1 else _batch(frames)

    def _take_one(self) -> bytes:
        data = self._next
        if data is not None:
            self._next = None
            return data
        frame = self._frames.popleft()
        if isinstance(frame, bytes):
            return frame
        if frame.HasField("log"):
            self._logs.taken()
        return frame.SerializeToString()


def _batch(frames: list[bytes]) -> bytes:
    parts: list[bytes] = []
    for frame in frames:
        parts += (_FRAME, _varint(len(frame)), frame)
    inner = b"".join(parts)
    return b"".join((_BATCH, _varint(len(inner)), inner))


def _varint(value: int) -> bytes:
    """Returns a number as protobuf writes it."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
