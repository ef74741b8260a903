"""Looks for OpenTelemetry in a worker, and loads it for the first call that needs it."""

from __future__ import annotations

import contextvars
import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence

from snakepit_bridge.bridge_log import logger
from snakepit_bridge.calls.context.call import NOT_SAMPLED, Call
from snakepit_bridge.tools.tool import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.boot.launch_message import TelemetrySetting
    from snakepit_bridge.telemetry.tracing import HostCallSpan, ToolSpan, Tracing

__all__ = ["find_tracing", "is_requested"]

_API = "opentelemetry.trace"
# The last thing that the module defines.
_LAST_NAME = "__all__"
# The prefix of variables that the SDK reads.
_VARIABLES = "OTEL_"


def find_tracing(
    worker_id: str, incarnation: str, setting: TelemetrySetting
) -> Tracing | None:
    """Returns the connection to OpenTelemetry's API; None if that is not installed."""
    try:
        if importlib.util.find_spec(_API) is None:
            _warn_without(setting)
            return None
    except ModuleNotFoundError as error:
        if error.name == "opentelemetry":
            _warn_without(setting)
            return None
        _warn(error)
        return None
    except Exception as error:  # noqa: BLE001 - third-party code
        _warn(error)
        return None
    return _TracingOnDemand(worker_id, incarnation, setting)


def _warn_without(setting: TelemetrySetting) -> None:
    if setting.instruments:
        logger(__name__).warning(
            'opentelemetry: "auto" does nothing: opentelemetry-api is not installed'
        )


def is_requested() -> bool:
    """Returns whether the environment has variables that may configure an SDK."""
    return any(name.startswith(_VARIABLES) for name in os.environ)


class _TracingOnDemand:
    """A `Tracing` that imports OpenTelemetry when a call brings baggage or the context
    of a trace that is recorded, when tools import it, or when `OTEL_*` may configure an SDK. The import takes as long as all
    others of a worker together."""

    def __init__(
        self, worker_id: str, incarnation: str, setting: TelemetrySetting
    ) -> None:
        self._of = (worker_id, incarnation, setting)
        self._instruments = setting.instruments
        self._loaded: Tracing | None = None
        self._has_failed = False
        # What is copied for calls is one context, or another one for coroutines.
        self._base: contextvars.Context | None = None
        self._idle: contextvars.Context | None = None

    def begin(
        self, tool: Tool, call: Call, batch: ToolSpan | None = None
    ) -> ToolSpan | None:
        """See `Tracing`."""
        carrier = call.trace_context
        tracing = self._load() if _may_be_recorded(carrier) else self._used()
        return None if tracing is None else tracing.begin(tool, call, batch)

    def is_idle(self, traceparent: str | None) -> bool:
        """See `Tracing`."""
        if traceparent == NOT_SAMPLED:
            return True
        tracing = self._needed_for(traceparent)
        return tracing is None or tracing.is_idle(traceparent)

    def idle_context(
        self, base: contextvars.Context, traceparent: str | None
    ) -> contextvars.Context | None:
        """See `Tracing`."""
        if traceparent is NOT_SAMPLED:
            # One is copied for all of them: to make each takes longer than a small tool
            # runs.
            if base is self._base and self._idle is not None:
                return self._idle.copy()
            tracing = self._used()
            if tracing is None:
                return base.copy()
            self._base = base
            self._idle = tracing.idle_context(base, traceparent)
            return None if self._idle is None else self._idle.copy()
        tracing = self._loaded or self._needed_for(traceparent)
        if tracing is None:
            return base.copy()
        return tracing.idle_context(base, traceparent)

    def begin_batch(self, tool: Tool, calls: Sequence[Call]) -> ToolSpan | None:
        """See `Tracing`."""
        tracing = self._used()
        return None if tracing is None else tracing.begin_batch(tool, calls)

    def begin_host_call(self, function: str) -> HostCallSpan | None:
        """See `Tracing`."""
        tracing = self._used()
        return None if tracing is None else tracing.begin_host_call(function)

    def carrier(self) -> dict[str, str]:
        """See `Tracing`."""
        tracing = self._used()
        return {} if tracing is None else tracing.carrier()

    def ids(self) -> tuple[str, str] | None:
        """See `Tracing`."""
        tracing = self._used()
        return None if tracing is None else tracing.ids()

    def configure(self) -> None:
        """See `Tracing`."""
        if self._instruments or is_requested():
            self._load()
        tracing = self._used()
        if tracing is not None:
            tracing.configure()

    def close(self, timeout: float) -> None:
        """See `Tracing`."""
        tracing = self._used()
        if tracing is not None:
            tracing.close(timeout)

    def _needed_for(self, traceparent: str | None) -> Tracing | None:
        """Returns the tracing for a call with this header, if it needs one: a tool that
        imports OpenTelemetry later finds the caller of a recorded call.
        """
        loads = traceparent is not None and _is_recorded(traceparent)
        return self._load() if loads else self._used()

    def _used(self) -> Tracing | None:
        """Returns the tracing if anything has imported OpenTelemetry."""
        # A record that is logged while it is being imported does not import it again.
        if (
            self._loaded is None
            and _API in sys.modules
            and hasattr(sys.modules.get(_API), _LAST_NAME)
        ):
            self._load()
        return self._loaded

    def _load(self) -> Tracing | None:
        if self._loaded is None and not self._has_failed:
            try:
                from snakepit_bridge.telemetry.otel_tracing import OtelTracing

                self._loaded = OtelTracing(*self._of)
            except Exception as error:  # noqa: BLE001 - third-party code
                self._has_failed = True
                _warn(error)
        return self._loaded


def _may_be_recorded(carrier: Mapping[str, str]) -> bool:
    """Returns whether a carrier has more than the context of a trace that is not."""
    if len(carrier) == 1:
        return _is_recorded(carrier.get("traceparent", ""))
    return bool(carrier)


def _is_recorded(traceparent: str) -> bool:
    return not traceparent.endswith("-00")


def _warn(error: Exception) -> None:
    logger(__name__).warning(
        "no telemetry: opentelemetry cannot be imported: %r", error
    )
