"""Tracing by OpenTelemetry's API, whichever SDK is behind it, or none."""

from __future__ import annotations

import contextvars
import logging
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from opentelemetry import context, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from snakepit_bridge._version import __version__
from snakepit_bridge.boot.launch_message import TelemetrySetting
from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
from snakepit_bridge.calls.context.call import CURRENT, NOT_SAMPLED, Call
from snakepit_bridge.calls.context.host_calls import HostCallFailed
from snakepit_bridge.calls.run.running_call import TerminalFrame
from snakepit_bridge.frames import Failure, FailureCode
from snakepit_bridge.telemetry import exceptions, names, sdk
from snakepit_bridge.telemetry.tracing import ToolSpan
from snakepit_bridge.tools.tool import Tool

__all__ = ["OtelTracing", "Outcome", "callers_context", "outcome"]


_TRACE_CONTEXT = TraceContextTextMapPropagator()
_BAGGAGE = W3CBaggagePropagator()

# The headers that nearly every call carries: the propagators take about twice as long
# to read them.
_TRACEPARENT = re.compile("00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_FLAGS = [trace.TraceFlags(flags) for flags in range(256)]


def callers_context(carrier: Mapping[str, str], current: Context) -> Context:
    """Returns `current` with the caller's span and baggage, if the carrier has any. The
    result is that of OpenTelemetry's own propagators, but faster.
    """
    match = _TRACEPARENT.fullmatch(carrier.get("traceparent", ""))
    if match is None or "tracestate" in carrier:
        current = _TRACE_CONTEXT.extract(carrier, current)
    else:
        trace_id, span_id, flags = match.groups()
        caller = trace.SpanContext(
            int(trace_id, 16), int(span_id, 16), True, _FLAGS[int(flags, 16)]
        )
        if caller.is_valid:
            span = trace.NonRecordingSpan(caller)
            current = trace.set_span_in_context(span, current)
    return _BAGGAGE.extract(carrier, current) if "baggage" in carrier else current


# The key of the current span, which the API tells to nobody.
_SPAN_KEY = next(iter(trace.set_span_in_context(trace.INVALID_SPAN, Context())))


class _IdleContexts:
    """Makes the contexts of calls that nothing records here, in which their callers are
    current.
    """

    def __init__(self) -> None:
        self._base: contextvars.Context | None = None
        # What is current in it: to ask for that takes as long as to copy it.
        self._around: Mapping[str, object] = {}

    def new(self, base: contextvars.Context, traceparent: str) -> contextvars.Context:
        """Returns one with the variables of another. That of `NOT_SAMPLED` serves all
        such calls.
        """
        idle = base.copy()
        if base is not self._base:
            self._around = idle.run(context.get_current)
            self._base = base
        caller = (
            _Caller(trace.INVALID_SPAN_CONTEXT)
            if traceparent is NOT_SAMPLED
            else _CallerAt(traceparent)
        )
        # As `set_span_in_context`, which takes twice as long.
        idle.run(context.attach, Context({**self._around, _SPAN_KEY: caller}))
        return idle


class _CallerAt(trace.NonRecordingSpan):
    """The span of a caller. Its header is read when somebody asks for its ids."""

    # Until somebody asks for it.
    _context = trace.INVALID_SPAN_CONTEXT

    def __init__(self, traceparent: str) -> None:
        self._traceparent = traceparent

    def get_span_context(self) -> trace.SpanContext:
        """Returns the ids."""
        if self._context is trace.INVALID_SPAN_CONTEXT:
            carrier = {"traceparent": self._traceparent}
            caller = callers_context(carrier, context.Context())
            self._context = trace.get_current_span(caller).get_span_context()
        return self._context


class _Caller(trace.NonRecordingSpan):
    """The span of the caller of whichever call runs."""

    def get_span_context(self) -> trace.SpanContext:
        """Returns ids that are made when the call is first asked for them."""
        running = CURRENT.get(None)
        if running is None:
            return trace.INVALID_SPAN_CONTEXT
        caller = callers_context(running.call.trace_context, context.Context())
        return trace.get_current_span(caller).get_span_context()


# How a tool ends that does not handle its cancellation.
_BY_CANCELLATION = (
    "asyncio.exceptions.CancelledError",
    "GeneratorExit",
    "snakepit_bridge.CallCancelled",
)


@dataclass(frozen=True)
class Outcome:
    """How a span ends.

    Attributes:
        error: the description of its status, an error; None where it is none.
        attributes: what is added to it.
        exception: the attributes of its exception event; empty without one.
    """

    error: str | None = None
    attributes: dict[str, str] = field(default_factory=dict)
    exception: dict[str, str] = field(default_factory=dict)


def outcome(frame: TerminalFrame | None, reason: CancelReason | None) -> Outcome:
    """Returns how the span of a call ends; `frame` is None for a result.

    A call that its caller cancelled is marked and is not an error; one that ran into
    its deadline or the worker's end is both.
    """
    if not isinstance(frame, Failure):
        return Outcome()
    if frame.code == FailureCode.CANCELLED:
        return _cancelled(frame, reason or CancelReason.CALLER)
    exception = _exception(frame)
    error_type = exception.get(names.EXCEPTION_TYPE, frame.code)
    return Outcome(frame.message, {names.ERROR_TYPE: error_type}, exception)


def _cancelled(failure: Failure, reason: CancelReason) -> Outcome:
    attributes = {names.CANCEL_REASON: reason.name.lower()}
    if reason is not CancelReason.CALLER:
        attributes[names.ERROR_TYPE] = reason.name
        return Outcome(failure.message, attributes, _exception(failure))
    went_wrong = failure.error is not None and (
        failure.error.type not in _BY_CANCELLATION
    )
    return Outcome(None, attributes, _exception(failure) if went_wrong else {})


def _exception(failure: Failure) -> dict[str, str]:
    error = failure.error
    if error is None:
        return {}
    return {
        names.EXCEPTION_TYPE: error.type,
        names.EXCEPTION_MESSAGE: error.message,
        names.EXCEPTION_STACKTRACE: error.traceback,
    }


# What a receiver need not accept (W3C Baggage, limits); newer APIs leave out entries.
MAX_BAGGAGE = 8192

_logger = logging.getLogger(__name__)


class OtelTracing:
    """A `Tracing`."""

    def __init__(
        self, worker_id: str, incarnation: str, setting: TelemetrySetting
    ) -> None:
        self._worker_id = worker_id
        self._incarnation = incarnation
        self._setting = setting
        self._idle = _IdleContexts()
        self._tracer = trace.get_tracer(
            names.SCOPE, __version__, schema_url=names.SCHEMA_URL
        )

    def begin(
        self, tool: Tool, call: Call, batch: ToolSpan | None = None
    ) -> OtelToolSpan | None:
        """See `Tracing`."""
        has_provider = _may_have_provider()
        if not call.trace_context and not has_provider:
            return None
        span: trace.Span | None = None
        current = context.get_current()
        try:
            current = callers_context(call.trace_context, current)
            if has_provider:
                span = self._start_span(tool, call, current, batch)
                if span.get_span_context().is_valid:
                    # A sampler may leave it out: then the caller's stays current.
                    current = trace.set_span_in_context(span, current)
                if not span.is_recording():
                    # It is not recorded, so nothing happens at its end.
                    span = None
        except BaseException:  # noqa: BLE001 - samplers and processors are user code
            _say_once("a span could not be begun")
        # Never detached: the contextvars.Context that has it ends with the call.
        context.attach(current)
        return None if span is None else OtelToolSpan(span)

    def is_idle(self, traceparent: str | None) -> bool:
        """See `Tracing`."""
        return traceparent == NOT_SAMPLED or not _may_have_provider()

    def idle_context(
        self, base: contextvars.Context, traceparent: str | None
    ) -> contextvars.Context | None:
        """See `Tracing`."""
        if traceparent is not NOT_SAMPLED and _may_have_provider():
            return None
        return base.copy() if traceparent is None else self._idle.new(base, traceparent)

    def begin_batch(self, tool: Tool, calls: Sequence[Call]) -> OtelToolSpan | None:
        """See `Tracing`."""
        if not _may_have_provider():
            return None
        try:
            span = self._start_batch(tool, calls)
            # Never detached, as that of a call.
            context.attach(trace.set_span_in_context(span))
        except BaseException:  # noqa: BLE001 - samplers and processors are user code
            _say_once("a span could not be begun")
            return None
        return OtelToolSpan(span)

    def _start_batch(self, tool: Tool, calls: Sequence[Call]) -> trace.Span:
        nothing = context.Context()
        callers = [
            trace.get_current_span(
                callers_context(call.trace_context, nothing)
            ).get_span_context()
            for call in calls
        ]
        return self._tracer.start_span(
            f"{tool.name} batch",
            # It has several callers, so it is a part of no caller's trace.
            nothing,
            trace.SpanKind.INTERNAL,
            {
                names.CODE_FUNCTION_NAME: tool.qualified_name,
                names.TOOL_KIND: tool.kind.value,
                names.BATCH_SIZE: len(calls),
                names.WORKER_ID: self._worker_id,
            },
            [trace.Link(caller) for caller in callers if caller.is_valid],
        )

    def _start_span(
        self,
        tool: Tool,
        call: Call,
        current: context.Context,
        batch: ToolSpan | None,
    ) -> trace.Span:
        return self._tracer.start_span(
            tool.name,
            current,
            trace.SpanKind.SERVER,
            {
                names.RPC_SYSTEM_NAME: names.RPC_SYSTEM,
                names.RPC_METHOD: tool.name,
                names.CODE_FUNCTION_NAME: tool.qualified_name,
                names.TOOL_KIND: tool.kind.value,
                names.CALL_NUMBER: call.call_id,
                names.WORKER_ID: self._worker_id,
            },
            batch.links() if isinstance(batch, OtelToolSpan) else None,
        )

    def begin_host_call(self, function: str) -> OtelHostCallSpan | None:
        """See `Tracing`."""
        if not _may_have_provider():
            return None
        try:
            span = self._tracer.start_span(
                f"{names.BACK_CALL} {function}",
                kind=trace.SpanKind.CLIENT,
                attributes={
                    names.RPC_SYSTEM_NAME: names.RPC_SYSTEM,
                    names.RPC_METHOD: function,
                    names.WORKER_ID: self._worker_id,
                },
            )
            if not span.get_span_context().is_valid:
                return None
            return OtelHostCallSpan(span, trace.set_span_in_context(span))
        except BaseException:  # noqa: BLE001 - samplers and processors are user code
            _say_once("a span could not be begun")
            return None

    def carrier(self) -> dict[str, str]:
        """See `Tracing`."""
        return _carrier_of(context.get_current())

    def ids(self) -> tuple[str, str] | None:
        """See `Tracing`."""
        span = trace.get_current_span().get_span_context()
        if not span.is_valid:
            return None
        return trace.format_trace_id(span.trace_id), trace.format_span_id(span.span_id)

    def configure(self) -> None:
        """See `Tracing`."""
        sdk.configure(self._incarnation, self._setting)

    def close(self, timeout: float) -> None:
        """See `Tracing`."""
        sdk.shut_down(timeout)


class OtelToolSpan:
    """A `ToolSpan`."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def links(self) -> list[trace.Link]:
        """Returns what refers to it."""
        return [trace.Link(self._span.get_span_context())]

    def end(self, frame: TerminalFrame | None, reason: CancelReason | None) -> None:
        """See `ToolSpan`."""
        try:
            if self._span.is_recording():
                self._describe(frame, reason)
            self._span.end()
        except BaseException:  # noqa: BLE001 - processors and exporters are user code
            _say_once("a span could not be ended")

    def _describe(
        self, frame: TerminalFrame | None, reason: CancelReason | None
    ) -> None:
        end = outcome(frame, reason)
        if end.attributes:
            self._span.set_attributes(end.attributes)
        if end.exception:
            exceptions.record(self._span, end.exception)
        if end.error is not None:
            self._span.set_status(trace.Status(trace.StatusCode.ERROR, end.error))


class OtelHostCallSpan:
    """A `HostCallSpan`."""

    def __init__(self, span: trace.Span, around: Context) -> None:
        self._span = span
        self._around = around

    def carrier(self) -> dict[str, str]:
        """See `HostCallSpan`."""
        return _carrier_of(self._around)

    def end(self, error: BaseException | None) -> None:
        """See `HostCallSpan`."""
        try:
            if error is not None and self._span.is_recording():
                self._describe(error)
            self._span.end()
        except BaseException:  # noqa: BLE001 - processors and exporters are user code
            _say_once("a span could not be ended")

    def _describe(self, error: BaseException) -> None:
        # The exception itself is on the span of the function, in the host.
        if isinstance(error, HostCallFailed):
            self._span.set_attribute(names.ERROR_TYPE, error.code)
            description = error.message
        else:
            self._span.set_attribute(names.ERROR_TYPE, type(error).__qualname__)
            description = str(error)
        # That the call is cancelled is no failure of the function.
        if isinstance(error, Exception):
            self._span.set_status(trace.Status(trace.StatusCode.ERROR, description))


def _carrier_of(around: Context) -> dict[str, str]:
    """Returns a context as W3C trace context and baggage."""
    carrier: dict[str, str] = {}
    try:
        _TRACE_CONTEXT.inject(carrier, around)
        _BAGGAGE.inject(carrier, around)
        if len(carrier.get("baggage", "")) > MAX_BAGGAGE:
            del carrier["baggage"]
    except Exception:  # noqa: BLE001 - baggage is what user code made it
        _say_once("baggage could not be sent")
    return carrier


_UNKNOWN = object()


def _may_have_provider() -> bool:
    """Returns whether an SDK may be configured; a tool can do that at any time.

    The public `get_tracer_provider` reads the environment each time, which takes as
    long as a span that is not recorded. Where this private name is gone, assume so.
    """
    return getattr(trace, "_TRACER_PROVIDER", _UNKNOWN) is not None


_said: set[str] = set()
_saying = threading.Lock()


def _say_once(problem: str) -> None:
    """Logs the exception being handled only once: if one call fails, all do."""
    with _saying:
        if problem in _said:
            return
        _said.add(problem)
    _logger.exception("%s; this is logged once, and no call is affected", problem)
