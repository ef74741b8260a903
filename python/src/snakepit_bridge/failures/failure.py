"""The frames that report why a call failed."""

from __future__ import annotations

import os
import sys

from snakepit_bridge.boot import exit_status
from snakepit_bridge.frames import Failure, FailureCode, PythonError
from snakepit_bridge.tools.binding import ArgumentsInvalid
from snakepit_bridge.values.value_not_transferable import ValueNotTransferable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
    from snakepit_bridge.calls.run.running_call import TerminalFrame

MAX_MESSAGE = 64 << 10
MAX_PATH = 4 << 10
# Where not even text of a failure can be made.
_NOTHING_TO_SAY = "the call failed, and why could not be reported"
_UNANSWERED = b"A call cannot be answered, so this worker ends.\n"
# What a plain failure has of a message.
_PLAIN_CHARACTERS = 1000


class CallRefused(Exception):
    """The bridge itself ends a call, before the tool runs or instead of its answer.

    Attributes:
        kind: one of `FailureCode`.
        is_early: whether it was raised in a tool of the bridge before any other code
            ran: the call counts as not begun.
    """

    def __init__(
        self,
        kind: str,
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


def refused(call_id: int, refusal: CallRefused, *, began: bool) -> TerminalFrame:
    """Returns the frame for a call that the bridge refused."""
    began = began and not refusal.is_early
    return _frame(call_id, refusal.kind, refusal.message, began, path=refusal.path)


def cancelled(
    call_id: int,
    reason: CancelReason,
    error: BaseException | None = None,
    *,
    began: bool,
) -> TerminalFrame:
    """Returns the frame for a call that was cancelled."""
    message = f"the call was cancelled: {reason.value}"
    return _frame(call_id, FailureCode.CANCELLED, message, began, error)


def recalled(call_id: int) -> TerminalFrame:
    """Returns the frame for a call that the host took back before it began."""
    message = "the host took the call back before it began"
    return _frame(call_id, FailureCode.RECALLED, message, False)


def failure_of(call_id: int, error: BaseException, *, began: bool) -> TerminalFrame:
    """Returns the frame for an exception of the tool or of the bridge.

    There always is one: where that exception cannot be described, it is a plain one.
    """
    try:
        return _failure_of(call_id, error, began)
    except BaseException as second:  # noqa: BLE001 - code of the exception, no memory
        return _text_failure(
            call_id, FailureCode.TOOL_FAILED, _text_summary(error), began, second
        )


def _failure_of(call_id: int, error: BaseException, began: bool) -> TerminalFrame:
    # Not `isinstance`, which an exception can answer itself.
    kind = type(error)
    if issubclass(kind, CallRefused):
        return refused(call_id, error, began=began)  # type: ignore[arg-type]
    # Imported where a call fails: each import is a part of every start.
    from snakepit_bridge.calls.context.input_stream import InputInvalid
    from snakepit_bridge.failures.python_error import error_summary

    if issubclass(kind, (ArgumentsInvalid, InputInvalid)):
        path: str = error.path  # type: ignore[attr-defined]
        code = FailureCode.INVALID_ARGUMENTS
        return _frame(call_id, code, str(error), began, path=path)
    return _frame(call_id, FailureCode.TOOL_FAILED, error_summary(error), began, error)


def end_worker() -> NoReturn:
    """Ends this process, because a call cannot get an answer: its caller has one then."""
    try:
        os.write(2, _UNANSWERED)
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(exit_status.FAILED)


def not_transferable(role: str, error: ValueNotTransferable) -> CallRefused:
    """Returns the refusal of a value that cannot cross: the arguments, a result or a
    chunk of a call."""
    kind = FailureCode.VALUE_NOT_TRANSFERABLE
    return CallRefused(kind, f"its {role}: {error}", error.path)


def too_large(subject: str, size: int, limit: int) -> CallRefused:
    """Returns the refusal of a value that no message can hold."""
    return CallRefused(
        FailureCode.RESULT_TOO_LARGE,
        f"{subject} has {size} bytes, the limit of one message is {limit}; send a stream "
        "of smaller chunks, or raise maxMessageBytes",
    )


def _frame(
    call_id: int,
    kind: str,
    message: str,
    began: bool,
    error: BaseException | None = None,
    path: str = "",
) -> TerminalFrame:
    try:
        return _full_frame(call_id, kind, message, began, error, path)
    except BaseException as second:  # noqa: BLE001 - as above
        return _text_failure(call_id, kind, message, began, second)


def _full_frame(
    call_id: int,
    kind: str,
    message: str,
    began: bool,
    error: BaseException | None,
    path: str,
) -> Failure:
    # Imported where a call fails, as above.
    from snakepit_bridge.failures.python_error import bounded

    described: PythonError | None = None
    if error is not None:
        from snakepit_bridge.failures.python_error import python_error

        described = python_error(error)
    return Failure(
        call_id,
        kind,
        bounded(message, MAX_MESSAGE),
        began,
        bounded(path, MAX_PATH),
        error=described,
    )


def _text_failure(
    call_id: int, kind: str, message: str, began: bool, second: BaseException
) -> TerminalFrame:
    """Returns a frame that needs no module: a call always gets an answer."""
    try:
        try:
            text = f"{message[:_PLAIN_CHARACTERS]} (no more can be reported of it: "
            text += f"{_name_of(second)})"
            summary = text.encode("utf-8", "backslashreplace").decode()
        except BaseException:  # noqa: BLE001 - no memory
            summary = _NOTHING_TO_SAY
        return Failure(call_id, kind, summary, began)
    except MemoryError:
        end_worker()


def _text_summary(error: BaseException) -> str:
    """Returns type and text of an exception, as far as they can be had."""
    name = _name_of(error)
    try:
        text = str.__str__(str(error))
    except BaseException:  # noqa: BLE001 - user code
        return name
    return f"{name}: {text}" if text else name


def _name_of(error: BaseException) -> str:
    # A metaclass may have an attribute of this name.
    name: str = type.__dict__["__name__"].__get__(type(error))
    return name
