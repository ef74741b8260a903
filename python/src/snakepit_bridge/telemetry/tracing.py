"""The telemetry that the bridge uses. Nothing here imports OpenTelemetry."""

from __future__ import annotations

import contextvars
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
from snakepit_bridge.calls.context.call import Call
from snakepit_bridge.tools.tool import Tool

if TYPE_CHECKING:
    from snakepit_bridge.calls.run.running_call import TerminalFrame

__all__ = ["HostCallSpan", "ToolSpan", "Tracing"]


class ToolSpan(Protocol):
    """The span of one call's tool, or of a batch."""

    def end(self, frame: TerminalFrame | None, reason: CancelReason | None) -> None:
        """Ends it by the terminal frame, None for a result; called once.

        Never raises. User code may run in it, and so never in the bridge's thread.
        """


class HostCallSpan(Protocol):
    """The span of a host call."""

    def carrier(self) -> dict[str, str]:
        """Returns its context, and the current baggage, for the host."""

    def end(self, error: BaseException | None) -> None:
        """Ends it with what the host call raised; called once. Never raises."""


class Tracing(Protocol):
    """Installed telemetry. None of its methods raises, whatever an SDK does."""

    def begin(
        self, tool: Tool, call: Call, batch: ToolSpan | None = None
    ) -> ToolSpan | None:
        """Makes the caller's context current, and starts the span in it.

        It has a link to the span of the batch in which the call runs, if there is one.

        Both stay in the current `contextvars.Context`, which is the call's own.
        User code may run in it, and so never in the bridge's thread.
        """

    def is_idle(self, traceparent: str | None) -> bool:
        """Returns whether a call with this header, or none, needs no `begin`: nothing
        records it, and what `idle_context` returns has its caller.
        """

    def idle_context(
        self, base: contextvars.Context, traceparent: str | None
    ) -> contextvars.Context | None:
        """Returns a new context with the variables of `base`, for a call with this
        header, or none, that needs no `begin`; None if it needs one.
        """

    def begin_batch(self, tool: Tool, calls: Sequence[Call]) -> ToolSpan | None:
        """Starts the span of a batch, with links to its callers, and makes it current.

        The same holds of it as of `begin`.
        """

    def begin_host_call(self, function: str) -> HostCallSpan | None:
        """Starts the span of a function of the host that a tool calls, in the current
        context, but does not make it current. User code may run in it.
        """

    def carrier(self) -> dict[str, str]:
        """Returns the current context as W3C trace context and baggage."""

    def ids(self) -> tuple[str, str] | None:
        """Returns the ids of the current trace and span, in hexadecimal digits."""

    def configure(self) -> None:
        """Configures an SDK if the environment requests one and the tools have not.

        Called after the fork that makes the worker, since an SDK has threads.
        """

    def close(self, timeout: float) -> None:
        """Makes an SDK send its data within some seconds, and shuts it down."""
