"""What OpenTelemetry sees in calls of which no trace is recorded."""

from __future__ import annotations

import contextvars

from opentelemetry import context, trace

from snakepit_bridge.calls.context import CURRENT
from snakepit_bridge.telemetry.callers_context import callers_context

__all__ = ["unrecorded_context"]


def unrecorded_context(base: contextvars.Context) -> contextvars.Context:
    """Returns one for all such calls, with the variables of another: to make one for each
    takes longer than a small tool runs."""
    made = base.copy()
    made.run(_attach)
    return made


def _attach() -> None:
    context.attach(trace.set_span_in_context(_Caller(trace.INVALID_SPAN_CONTEXT)))


class _Caller(trace.NonRecordingSpan):
    """The span of the caller of whichever call runs."""

    def get_span_context(self) -> trace.SpanContext:
        """Returns ids that are made when the call is first asked for them."""
        running = CURRENT.get(None)
        if running is None:
            return trace.INVALID_SPAN_CONTEXT
        caller = callers_context(running.call.trace_context, context.Context())
        return trace.get_current_span(caller).get_span_context()
