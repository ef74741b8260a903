"""Where the frames of calls go."""

from __future__ import annotations

from typing import Protocol

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.calls.shared_memory import SharedMemory

__all__ = ["CallSink"]


class CallSink(Protocol):
    """Where the frames of calls go. Its methods may be called in any thread."""

    max_message_bytes: int
    shared_memory: SharedMemory | None

    def send(self, frame: pb.WorkerFrame) -> None:
        """Sends a frame."""

    def settle(self, call_id: int, frame: pb.WorkerFrame) -> None:
        """Sends the terminal frame of a call."""
