"""Where the frames of calls go."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol, TypeAlias

    from snakepit_bridge.calls.memory.call_page import BegunMarks, CallPage
    from snakepit_bridge.calls.memory.shared_memory import SharedMemory
    from snakepit_bridge.frames import End, Failure, Result, WorkerFrame
    from snakepit_bridge.telemetry.tracing import Tracing
else:
    Protocol = object

__all__ = ["CallSink", "TerminalFrame"]

# Bytes are those of `compact_result`.
TerminalFrame: TypeAlias = "Result | End | Failure | bytes"


class CallSink(Protocol):
    """Where the frames of calls go. Its methods may be called in any thread."""

    max_message_bytes: int
    shared_memory: SharedMemory | None
    tracing: Tracing | None
    page: CallPage | BegunMarks | None

    def send(self, frame: WorkerFrame) -> None:
        """Sends a frame."""

    def settle(self, call_id: int, frame: TerminalFrame) -> None:
        """Sends the terminal frame of a call."""
