"""Frames on their way to the host, by way of the bridge's loop."""

from __future__ import annotations

import asyncio
from collections import deque

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.call_soon import call_soon
from snakepit_bridge.bridge.transport import MAX_LOGS

__all__ = ["GrpcOutbox"]


class GrpcOutbox:
    """An `Outbox` that one task of the bridge's loop empties."""

    def __init__(self) -> None:
        self._frames: deque[pb.WorkerFrame] = deque()
        # Written under the lock of `logging`, and in the bridge's thread.
        self._logs_put = 0
        self._logs_sent = 0
        self._dropped = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._filled = asyncio.Event()
        self._closed = False

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Names the loop that empties it; before that, frames just wait."""
        self._loop = loop

    def put(self, frame: pb.WorkerFrame) -> None:
        """Adds a frame."""
        self._frames.append(frame)
        loop = self._loop
        if loop is not None:
            call_soon(loop, self._filled.set)

    put_last = put

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

    def close(self) -> None:
        """Lets `take` return None once all frames are taken."""
        self._closed = True
        self._filled.set()

    async def take(self) -> pb.WorkerFrame | None:
        """Returns the next frame; in the bridge's thread."""
        while not self._frames:
            if self._closed:
                return None
            self._filled.clear()
            if not self._frames:
                await self._filled.wait()
        frame = self._frames.popleft()
        if frame.HasField("log"):
            self._logs_sent += 1
        return frame
