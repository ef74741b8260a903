"""What the bridge asks of telemetry. None of it imports OpenTelemetry."""

from __future__ import annotations

from typing import Protocol

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.calls.cancelled import CancelReason
from snakepit_bridge.calls.context import Call
from snakepit_bridge.tools.tool import Tool

__all__ = ["ToolSpan", "Tracing"]


class ToolSpan(Protocol):
    """The span of one call's tool."""

    def end(self, frame: pb.WorkerFrame, reason: CancelReason | None) -> None:
        """Ends it as the call's terminal frame says; to be called once.

        Never raises. User code may run in it, and so never in the bridge's thread.
        """


class Tracing(Protocol):
    """Telemetry that is there. Nothing of it raises, whatever an SDK does."""

    def begin(self, tool: Tool, call: Call) -> ToolSpan | None:
        """Makes the caller's context the current one, and in it begins the span.

        Both stay in the current `contextvars.Context`, which is the call's own.
        User code may run in it, and so never in the bridge's thread.
        """

    def carrier(self) -> dict[str, str]:
        """Returns the current context as W3C trace context and baggage."""

    def ids(self) -> tuple[str, str] | None:
        """Returns the ids of the current trace and span, in hexadecimal digits."""

    def configure(self) -> None:
        """Configures an SDK if the environment asks for one and the tools have not.

        To be called after a fork that makes the worker: an SDK has threads.
        """

    def close(self, timeout: float) -> None:
        """Has an SDK send what it has, for so many seconds, and ends it."""
