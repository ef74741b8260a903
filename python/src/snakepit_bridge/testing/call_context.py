"""A call that no host made, for the code of a test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from snakepit_bridge.calls.cancel_reason import CancelReason
from snakepit_bridge.calls.cancellation import Cancellation
from snakepit_bridge.calls.context import CURRENT, Call, refuse_to_block_the_loop
from snakepit_bridge.calls.given_call import GivenCall
from snakepit_bridge.calls.host_calls import Reply
from snakepit_bridge.calls.input_stream import InputStream
from snakepit_bridge.calls.progress_reports import checked_report
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode
from snakepit_bridge.values.no_image import NoImage

__all__ = ["HostFunction", "LocalCall", "call_context", "current"]

HostFunction = Callable[[Any], object]
_CALL_ID = 1


class LocalCall(Call):
    """A call that no host made: what `current_call()` returns within `call_context`.

    Attributes:
        reports: what the tool reported of its progress, all of it: fraction and
            message of each report.
    """

    def __init__(self, *args: Any, **given: Any) -> None:
        """Called by `call_context`."""
        super().__init__(*args, **given)
        self.reports: list[tuple[float | None, str]] = []

    def progress(self, fraction: float | None, message: str = "") -> None:
        """Adds a report to `reports`."""
        self.reports.append(checked_report(fraction, message))

    def cancel(self, reason: CancelReason = CancelReason.CALLER) -> None:
        """Cancels the call, as its caller would.

        What looks sees it, and what waits for the host or for input is woken. No
        other code is interrupted, as in a worker's threads: the tool notices it at
        `raise_if_cancelled()`, `host()` or the next item. To cancel an asynchronous
        tool where it awaits something else, cancel its task. May be called in a
        host function, or in any thread.

        Args:
            reason: why; only the first one counts.
        """
        self._cancellation.request(reason)

    @property
    def input(self) -> InputStream:
        """The items that the test gave; empty where it gave none."""
        stream = super().input
        stream._may_block = _refuse_in_a_loop
        return stream

    def host(self, function: str, argument: object = None) -> Any:
        """Calls a function of the test; see `Call.host`."""
        _refuse_in_a_loop()
        return super().host(function, argument)


@contextmanager
def call_context(
    tool: str = "tool",
    *,
    session: dict[str, Any] | None = None,
    timeout: float | None = None,
    input: Iterable[object] | None = None,
    host_functions: Mapping[str, HostFunction] | None = None,
    trace_context: Mapping[str, str] | None = None,
) -> Iterator[LocalCall]:
    """Makes a call current, for the code of a test that runs a tool.

    Args:
        tool: the name of the tool, as in `call.tool` and in its logger's name.
        session: the dictionary of the call's session; the same one for calls
            that share a session. None: the call belongs to none.
        timeout: seconds until the deadline, 0 for one that has passed. Nothing
            cancels the call then: that would be the host's, see `LocalCall.cancel`.
        input: the items of the caller's stream, all of them sent.
        host_functions: what the host would have registered. Each gets the one
            argument and returns the answer; both cross as they do to a host, so
            that what cannot be sent raises `NoImage`. What it raises is a
            `HostCallFailed` to the tool, with its attribute `code` or else the
            name of its type as code.
        trace_context: headers of the caller.

    Yields:
        The call, which `current_call()` returns meanwhile.

    Raises:
        NoImage: an item of the input cannot cross.
    """
    cancellation = Cancellation()
    # Which of the two the tool is, is seen where it matters.
    is_async = False
    call = LocalCall(
        _CALL_ID, tool, _Host(host_functions or {}), cancellation, is_async
    )
    call.session = session
    if timeout is not None:
        call.deadline = time.monotonic() + timeout
    call.trace_context = trace_context or {}
    if input is not None:
        call._input = _stream(input, cancellation)
    with current(call):
        yield call


@contextmanager
def current(call: Call) -> Iterator[None]:
    """Makes a call current meanwhile."""
    token = CURRENT.set(GivenCall(call))
    try:
        yield
    finally:
        CURRENT.reset(token)


class _Host:
    """Answers at once, in the thread that asks."""

    def __init__(self, functions: Mapping[str, HostFunction]) -> None:
        self._functions = functions

    def send_host_call(self, call_id: int, reply: Reply, argument: bytes) -> int:
        function = self._functions.get(reply.function)
        if function is None:
            known = ", ".join(self._functions) or "none"
            problem = (
                f"the host has no function {reply.function!r}; registered: {known}"
            )
            reply.failure("FUNCTION_NOT_FOUND", problem)
            return 1
        try:
            reply.result(encode(function(decode(argument))))
        except NoImage as error:
            reply.failure("VALUE_NOT_TRANSFERABLE", str(error))
        except Exception as error:  # noqa: BLE001 - as the host does
            code = getattr(error, "code", None)
            named = code if isinstance(code, str) else type(error).__name__
            reply.failure(named, getattr(error, "message", str(error)))
        return 1

    def drop_host_call(self, host_call_id: int) -> None:
        """Nothing is under way."""


def _stream(items: Iterable[object], cancellation: Cancellation) -> InputStream:
    stream = InputStream(cancellation, None, lambda _items: None)
    for index, item in enumerate(items):
        stream.put(encode(item, f"$input[{index}]"))
    stream.end("")
    return stream


def _refuse_in_a_loop() -> None:
    """A worker has one loop, for all asynchronous tools: none of them may block it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    refuse_to_block_the_loop()
