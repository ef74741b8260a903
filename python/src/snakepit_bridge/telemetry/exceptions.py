"""Exceptions of tools: events of their spans, or log records, as the user decides."""

from __future__ import annotations

import os
from collections.abc import Mapping

from opentelemetry import trace
from opentelemetry.context import Context

from snakepit_bridge._version import __version__
from snakepit_bridge.telemetry import names

__all__ = ["record"]

# Source: OpenTelemetry, semantic conventions for exceptions.
_OPT_IN = "OTEL_SEMCONV_EXCEPTION_SIGNAL_OPT_IN"


def record(span: trace.Span, attributes: Mapping[str, str]) -> None:
    """Records an exception once for each signal that the user chose."""
    chosen = os.environ.get(_OPT_IN, "").strip()
    if chosen != "logs":
        span.add_event(names.EXCEPTION, attributes)
    if chosen in ("logs", "logs/dup"):
        _log(span, attributes)


def _log(span: trace.Span, attributes: Mapping[str, str]) -> None:
    # Other workers need no API of log records.
    from opentelemetry import _logs

    logger = _logs.get_logger(names.SCOPE, __version__, schema_url=names.SCHEMA_URL)
    kind = attributes[names.EXCEPTION_TYPE]
    logger.emit(
        _logs.LogRecord(
            context=trace.set_span_in_context(span, Context()),
            # As the conventions for RPC have it.
            severity_number=_logs.SeverityNumber.ERROR,
            severity_text="ERROR",
            body=f"{kind}: {attributes[names.EXCEPTION_MESSAGE]}",
            attributes=attributes,
            event_name=names.SERVER_EXCEPTION,
        )
    )
