"""A call without a host, for tests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
from snakepit_bridge.calls.cancel.cancellation import Cancellation
from snakepit_bridge.calls.context.batch_call import BatchCall
from snakepit_bridge.calls.context.call import (
    CURRENT,
    Call,
    PresetCall,
    refuse_to_block_the_loop,
)
from snakepit_bridge.calls.context.host_calls import Reply
from snakepit_bridge.calls.context.input_stream import InputStream
from snakepit_bridge.calls.context.progress_reports import checked_report
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode
from snakepit_bridge.values.value_not_transferable import ValueNotTransferable

HostFunction = Callable[[Any], object]
_CALL_ID = 1


class LocalCall(Call):
    """A call without a host: what `current_call()` returns within `call_context`.

    Attributes:
        reports: every progress report of the tool, as fraction and message.
    """

    def __init__(self, *args: Any, **keywords: Any) -> None:
        """Called by `call_context`."""
        super().__init__(*args, **keywords)
        self.reports: list[tuple[float | None, str]] = []

    def progress(self, fraction: float | None, message: str = "") -> None:
        """Adds a report to `reports`."""
        self.reports.append(checked_report(fraction, message))

    def cancel(self, reason: CancelReason = CancelReason.CALLER) -> None:
        """Cancels the call, as its caller would.

        The tool notices it at `raise_if_cancelled()`, at `host()`, or at the next item
        of its input, even while it waits there. Other code is not interrupted, as in a
        worker's threads. To cancel an asynchronous tool that awaits something else,
        cancel its task. May be called in a host function and in any thread.

        Args:
            reason: why; only the first call's reason counts.
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
    """Makes a call current, for a test that runs a tool.

    Args:
        tool: the name of the tool, as in `call.tool` and in its logger's name.
        session: the dictionary of the call's session; the same one for calls
            that share a session. None: the call belongs to no session.
        timeout: seconds until the deadline; 0 means that it has passed. Without a
            host, nothing cancels the call then: use `LocalCall.cancel`.
        input: the items of the caller's stream.
        host_functions: the functions of the host, by name. Each gets one argument
            and returns the answer. Both are converted as for a real host, so a value
            that cannot be sent raises `ValueNotTransferable`. If the function raises, the tool
            gets a `HostCallFailed` whose code is the error's attribute `code`, or
            else the name of its type.
        trace_context: headers of the caller.

    Yields:
        The call, which `current_call()` returns meanwhile.

    Raises:
        ValueNotTransferable: an item of the input cannot be sent.
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
    token = CURRENT.set(PresetCall(call))
    try:
        yield
    finally:
        # It may have been set in the context of a test's task, which ended with that.
        with suppress(ValueError):
            CURRENT.reset(token)


class _Host:
    """Answers immediately, in the thread that asks."""

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
        except ValueNotTransferable as error:
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


@contextmanager
def batch_context(
    calls: int,
    tool: str = "tool",
    *,
    timeout: float | None = None,
    host_functions: Mapping[str, HostFunction] | None = None,
) -> Iterator[tuple[LocalCall, ...]]:
    """Makes a batch current, for the code of a test that runs the function of one.

    Args:
        calls: how many callers there are.
        tool: the name of the tool.
        timeout: seconds until the deadline of each call; see `call_context`.
        host_functions: what each call can ask; see `call_context`.

    Yields:
        The calls, which `current_batch()` returns meanwhile. Each may have a session,
        and is cancelled by itself.
    """
    contexts: list[LocalCall] = []
    for number in range(1, calls + 1):
        with call_context(tool, timeout=timeout, host_functions=host_functions) as call:
            call.call_id = number
            contexts.append(call)
    with current(BatchCall(contexts, Cancellation(), is_async=False)):
        yield tuple(contexts)
