"""Looks for OpenTelemetry, once in a worker's life."""

from __future__ import annotations

import importlib.util
import logging

from snakepit_bridge.telemetry.tracing import Tracing

__all__ = ["find_tracing"]

_logger = logging.getLogger(__name__)


def find_tracing(worker_id: str, incarnation: str) -> Tracing | None:
    """Returns what talks to OpenTelemetry's API; None where that is not installed."""
    try:
        if importlib.util.find_spec("opentelemetry.trace") is None:
            return None
        from snakepit_bridge.telemetry.otel_tracing import OtelTracing
    except ModuleNotFoundError as error:
        if error.name == "opentelemetry":
            return None
        _logger.warning("no telemetry: opentelemetry cannot be imported: %s", error)
        return None
    except Exception as error:  # noqa: BLE001 - third-party code
        _logger.warning("no telemetry: opentelemetry cannot be imported: %r", error)
        return None
    return OtelTracing(worker_id, incarnation)
