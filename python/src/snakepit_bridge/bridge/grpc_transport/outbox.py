"""Frames on their way to the host, by way of gRPC's loop."""

from __future__ import annotations

import asyncio
import threading
from collections import deque

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.grpc_transport.stepped_loop import SteppedLoop
from snakepit_bridge.bridge.transport import MAX_LOGS

__all__ = ["GrpcOutbox"]

# What gRPC does for a message costs more than a small frame: those that wait leave
# together, up to this size. A larger one leaves alone: its copy would cost more.
BATCH_BYTES = 64 << 10
ALONE_BYTES = 16 << 10
# Number, kind and length of a frame in a batch, or of the batch, at most.
AROUND_BYTES = 6

# The field `batch` of a frame and the field `frames` in it: number and kind.
_BATCH = b"\x52"
_FRAME = b"\x0a"


class GrpcOutbox:
    """An `Outbox` that one task of gRPC's loop empties.

    Attributes:
        held: whether the main thread gathers frames and will `flush` them.
    """

    def __init__(self) -> None:
        """To be made in the main thread."""
        self.held = False
        self._frames: deque[pb.WorkerFrame] = deque()
        # Serialised, and too large for the batch before it.
        self._next: bytes | None = None
        # Written under the lock of `logging`, and in the bridge's thread.
        self._logs_put = 0
        self._logs_sent = 0
        self._dropped = 0
        self._main = threading.get_ident()
        self._turned: SteppedLoop | None = None
        self._is_waking = False
        self._filled = asyncio.Event()
        self._closed = False
        self._batch_bytes = 0

    def attach(self, turned: SteppedLoop, limit: int) -> None:
        """Names the loop that empties it, and the limit of one message; before
        that, frames just wait."""
        self._turned = turned
        self._batch_bytes = min(limit, BATCH_BYTES) - AROUND_BYTES

    def put(self, frame: pb.WorkerFrame) -> None:
        """Adds a frame."""
        self._frames.append(frame)
        if self._is_awake():
            return
        if threading.get_ident() == self._main:
            if not self.held:
                self._wake()
        elif self._turned is not None:
            # A tool's thread can be interrupted between any two steps of `_wake`.
            self._turned.call_soon(self._filled.set)

    def put_last(self, frame: pb.WorkerFrame) -> None:
        """Adds the terminal frame of a call: nothing interrupts this thread now."""
        self._frames.append(frame)
        if self._is_awake():
            return
        if threading.get_ident() != self._main:
            self._wake()
        elif not self.held:
            if asyncio._get_running_loop() is None:
                self.flush()
            else:
                self._wake()

    def put_first(self, frame: pb.WorkerFrame) -> None:
        """Adds a frame before all that wait; in a turn of the loop."""
        self._frames.appendleft(frame)
        self._filled.set()

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
        self.put(pb.WorkerFrame(log=log))
        return True

    def flush(self) -> None:
        """Has the task take what waits, in this thread: the main or the bridge's."""
        if self._frames and not self._is_awake() and self._turned is not None:
            self._turned.call_now(self._woken)

    def close(self) -> None:
        """Lets `take` return None once all frames are taken."""
        self._closed = True
        self._filled.set()

    def _is_awake(self) -> bool:
        """Returns whether the task looks at the frames before it waits again: it
        clears first and looks second, and the caller has added a frame before."""
        return self._filled.is_set()

    def _wake(self) -> None:
        """Wakes the task once for all frames that come before it does."""
        if not self._is_waking and self._turned is not None:
            try:
                self._is_waking = True
                self._turned.call_soon(self._woken)
            except BaseException:
                # The handler of a signal interrupted the tool that sends.
                self._is_waking = False
                raise

    # ------------------------------------------------ in a turn of the loop

    def _woken(self) -> None:
        # In this order: who comes from here on wakes again.
        self._is_waking = False
        self._filled.set()

    async def take(self) -> bytes | None:
        """Returns the next frame, or a batch of all that are small and wait."""
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
        if frame.HasField("log"):
            self._logs_sent += 1
        return frame.SerializeToString()


def _batch(frames: list[bytes]) -> bytes:
    parts: list[bytes] = []
    for frame in frames:
        parts += (_FRAME, _varint(len(frame)), frame)
    inner = b"".join(parts)
    return b"".join((_BATCH, _varint(len(inner)), inner))


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
