"""The caller's span and baggage, read from what a call carries."""

from __future__ import annotations

import re
from collections.abc import Mapping

from opentelemetry import trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

__all__ = ["callers_context"]

_TRACE_CONTEXT = TraceContextTextMapPropagator()
_BAGGAGE = W3CBaggagePropagator()

# The headers that nearly every call carries: the propagators take about twice as long
# to read them.
_PLAIN = re.compile("00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_FLAGS = [trace.TraceFlags(flags) for flags in range(256)]


def callers_context(carrier: Mapping[str, str], current: Context) -> Context:
    """Returns `current` with the caller's span and baggage, if the carrier has any. The
    result is that of OpenTelemetry's own propagators, but faster.
    """
    plain = _PLAIN.fullmatch(carrier.get("traceparent", ""))
    if plain is None or "tracestate" in carrier:
        current = _TRACE_CONTEXT.extract(carrier, current)
    else:
        trace_id, span_id, flags = plain.groups()
        caller = trace.SpanContext(
            int(trace_id, 16), int(span_id, 16), True, _FLAGS[int(flags, 16)]
        )
        if caller.is_valid:
            span = trace.NonRecordingSpan(caller)
            current = trace.set_span_in_context(span, current)
    return _BAGGAGE.extract(carrier, current) if "baggage" in carrier else current
