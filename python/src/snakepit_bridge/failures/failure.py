"""The frames that report why a call failed."""

from __future__ import annotations

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.tools.binding import ArgumentsInvalid
from snakepit_bridge.values.no_image import NoImage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.calls.cancel_reason import CancelReason

__all__ = [
    "CallRefused",
    "cancelled",
    "failure_of",
    "refused",
    "taken_back",
    "too_large",
]

MAX_MESSAGE = 64 << 10
MAX_PATH = 4 << 10


class CallRefused(Exception):
    """The bridge itself ends a call, before the tool runs or instead of its answer.

    Attributes:
        is_early: whether it was raised in a tool of the bridge before any other code
            ran: the call counts as not begun.
    """

    def __init__(
        self,
        kind: pb.FailureKind,
        message: str,
        path: str = "",
        *,
        is_early: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.path = path
        self.is_early = is_early


def refused(call_id: int, refusal: CallRefused, *, began: bool) -> pb.WorkerFrame:
    """Returns the frame for a call that the bridge refused."""
    began = began and not refusal.is_early
    return _frame(call_id, refusal.kind, refusal.message, began, path=refusal.path)


def cancelled(
    call_id: int,
    reason: CancelReason,
    error: BaseException | None = None,
    *,
    began: bool,
) -> pb.WorkerFrame:
    """Returns the frame for a call that was cancelled."""
    message = f"the call was cancelled: {reason.value}"
    return _frame(call_id, pb.FAILURE_KIND_CANCELLED, message, began, error)


def taken_back(call_id: int) -> pb.WorkerFrame:
    """Returns the frame for a call that the host took back before it began."""
    message = "the host took the call back before it began"
    return _frame(call_id, pb.FAILURE_KIND_TAKEN_BACK, message, False)


def failure_of(call_id: int, error: BaseException, *, began: bool) -> pb.WorkerFrame:
    """Returns the frame for an exception of the tool or of the bridge."""
    # Imported where a call fails: each import is a part of every start.
    from snakepit_bridge.calls.input_stream import InputInvalid
    from snakepit_bridge.failures.python_error import error_summary

    if isinstance(error, CallRefused):
        return refused(call_id, error, began=began)
    if isinstance(error, (ArgumentsInvalid, InputInvalid)):
        kind = pb.FAILURE_KIND_INVALID_ARGUMENTS
        return _frame(call_id, kind, str(error), began, path=error.path)
    kind = pb.FAILURE_KIND_TOOL_FAILED
    return _frame(call_id, kind, error_summary(error), began, error)


def not_transferable(what: str, error: NoImage) -> CallRefused:
    """Returns the refusal of a value that cannot cross: the arguments, a result or a
    chunk of a call."""
    kind = pb.FAILURE_KIND_VALUE_NOT_TRANSFERABLE
    return CallRefused(kind, f"its {what}: {error}", error.path)


def too_large(what: str, size: int, limit: int) -> CallRefused:
    """Returns the refusal of a value that no message can hold."""
    return CallRefused(
        pb.FAILURE_KIND_RESULT_TOO_LARGE,
        f"{what} has {size} bytes, the limit of one message is {limit}; send a stream "
        "of smaller chunks, or raise maxMessageBytes",
    )


def _frame(
    call_id: int,
    kind: pb.FailureKind,
    message: str,
    began: bool,
    error: BaseException | None = None,
    path: str = "",
) -> pb.WorkerFrame:
    # Imported where a call fails, as above.
    from snakepit_bridge.failures.bounded_text import bounded

    failure = pb.Failure(
        call_id=call_id,
        kind=kind,
        message=bounded(message, MAX_MESSAGE),
        began=began,
        path=bounded(path, MAX_PATH),
    )
    if error is not None:
        from snakepit_bridge.failures.python_error import python_error

        failure.error.CopyFrom(python_error(error))
    return pb.WorkerFrame(failure=failure)
