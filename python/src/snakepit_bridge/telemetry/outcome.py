"""Derives the end of a span from a call's terminal frame."""

from __future__ import annotations

from dataclasses import dataclass, field

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.calls.cancel_reason import CancelReason
from snakepit_bridge.telemetry import names

__all__ = ["Outcome", "outcome"]

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


def outcome(frame: pb.WorkerFrame | None, reason: CancelReason | None) -> Outcome:
    """Returns how the span of a call ends; `frame` is None for a result.

    A call that its caller cancelled is marked and is not an error; one that ran into
    its deadline or the worker's end is both.
    """
    if frame is None or not frame.HasField("failure"):
        return Outcome()
    failure = frame.failure
    if failure.kind == pb.FAILURE_KIND_CANCELLED:
        return _cancelled(failure, reason or CancelReason.CALLER)
    kind = pb.FailureKind.Name(failure.kind).removeprefix("FAILURE_KIND_")
    exception = _exception(failure)
    error_type = exception.get(names.EXCEPTION_TYPE, kind)
    return Outcome(failure.message, {names.ERROR_TYPE: error_type}, exception)


def _cancelled(failure: pb.Failure, reason: CancelReason) -> Outcome:
    attributes = {names.CANCEL_REASON: reason.name.lower()}
    if reason is not CancelReason.CALLER:
        attributes[names.ERROR_TYPE] = reason.name
        return Outcome(failure.message, attributes, _exception(failure))
    went_wrong = failure.error.type not in _BY_CANCELLATION
    return Outcome(None, attributes, _exception(failure) if went_wrong else {})


def _exception(failure: pb.Failure) -> dict[str, str]:
    if not failure.HasField("error"):
        return {}
    error = failure.error
    return {
        names.EXCEPTION_TYPE: error.type,
        names.EXCEPTION_MESSAGE: error.message,
        names.EXCEPTION_STACKTRACE: error.traceback,
    }
