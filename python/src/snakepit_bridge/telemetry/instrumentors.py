"""Runs the installed instrumentors, as `opentelemetry-instrument` does."""

from __future__ import annotations

import logging
import os
from importlib.metadata import EntryPoint, entry_points

__all__ = ["run"]

# Source: opentelemetry-instrumentation, auto_instrumentation.
_GROUP = "opentelemetry_instrumentor"
_DISABLED = "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"
_ALL = "*"

_logger = logging.getLogger(__name__)


def run(*, has_sdk: bool) -> None:
    """Runs each that is installed and not disabled, once. One that fails is logged."""
    if not has_sdk:
        _logger.warning(
            'opentelemetry: "auto" does nothing: no OTEL_* variable asks for an SDK, '
            "and the tools have set no provider; set OTEL_EXPORTER_OTLP_ENDPOINT"
        )
        return
    disabled = {
        name.strip() for name in os.environ.get(_DISABLED, "").split(",") if name
    }
    installed = list(entry_points(group=_GROUP))
    if not installed:
        _logger.warning(
            'opentelemetry: "auto" does nothing: no instrumentor is installed; '
            "install those of your libraries, such as "
            "opentelemetry-instrumentation-requests"
        )
    if _ALL in disabled:
        return
    for entry_point in installed:
        if entry_point.name not in disabled:
            _run(entry_point)


def _run(entry_point: EntryPoint) -> None:
    try:
        instrumentor = entry_point.load()()
    except ModuleNotFoundError as error:
        # The library itself is not installed.
        _logger.debug("instrumentor %s left out: %s", entry_point.name, error.msg)
        return
    except Exception:
        _logger.exception("the instrumentor %s cannot be loaded", entry_point.name)
        return
    if getattr(instrumentor, "is_instrumented_by_opentelemetry", False):
        return
    try:
        instrumentor.instrument(raise_exception_on_conflict=True)
    except Exception as error:
        if type(error).__name__ == "DependencyConflictError":
            # Another version of the library, or none.
            _logger.debug("instrumentor %s left out: %s", entry_point.name, error)
            return
        _logger.exception("the instrumentor %s failed", entry_point.name)
