"""The call that a tool is running, as the tool sees it, and the state of its session."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import MappingProxyType

from snakepit_bridge.bridge_log import logger
from snakepit_bridge.calls.cancel.cancellation import Cancellation, Wakeup
from snakepit_bridge.failures.failure import CallRefused
from snakepit_bridge.frames import FailureCode
from snakepit_bridge.values.encode import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging
    from typing import Any, Protocol

    from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
    from snakepit_bridge.calls.context.host_calls import CallHost, HostCallSlots
    from snakepit_bridge.calls.context.input_stream import InputStream
    from snakepit_bridge.calls.context.progress_reports import ProgressReports
else:
    Protocol = object


class NoHandles:
    """The objects of a session in a call that has none.

    Attributes:
        are_given: whether an object can be held.
    """

    are_given = False

    def require(self) -> None:
        """Raises if no object can be held.

        Raises:
            CallRefused: always.
        """
        raise _no_handles()

    def reference_to(self, value: object) -> bytes:
        """Holds an object; returns the encoding that refers to it.

        Raises:
            CallRefused: it cannot be held.
        """
        raise _no_handles()

    def resolve(self, token: bytes) -> object:
        """Returns an object that is held.

        Raises:
            CallRefused: there is none of this token.
        """
        raise CallRefused(
            FailureCode.HANDLE_INVALID,
            "a handle came with a call that belongs to no session with handles; "
            "make the call in the session that the handle is from",
        )

    def holds(self, value: object) -> bool:
        """Returns whether this very object is held."""
        return False

    def release(self, token: bytes) -> None:
        """Drops an object, if it is held."""


def _no_handles() -> CallRefused:
    return CallRefused(
        FailureCode.HANDLE_REFUSED,
        "a handle needs a session that allows it: give the adapter the option "
        'handles, and call the tool in pool.session({ affinity: "strict" })',
    )


NO_HANDLES = NoHandles()


class Sessions:
    """The sessions that have had a call here.

    A session ends only when the host says so: the host limits their number and how long
    they may be unused. If a session were dropped here, the next call would find an
    empty dictionary.
    """

    def __init__(self) -> None:
        self._shared: dict[str, dict[str, Any]] = {}
        self._held: dict[str, NoHandles] = {}
        self._hold: Callable[[], NoHandles] | None = None

    def allow_handles(self, hold: Callable[[], NoHandles]) -> None:
        """Lets sessions hold objects; `hold` returns what holds those of a new one."""
        self._hold = hold

    def shared(self, session_id: str | None) -> dict[str, Any] | None:
        """Returns the dictionary of a session; None if there is no session."""
        return self._shared.setdefault(session_id, {}) if session_id else None

    def handles(self, session_id: str | None) -> NoHandles:
        """Returns the objects that a session holds by reference."""
        if self._hold is None or not session_id:
            return NO_HANDLES
        if session_id not in self._held:
            self._held[session_id] = self._hold()
        return self._held[session_id]

    def end(self, session_id: str) -> list[object]:
        """Ends a session; returns its objects, because freeing them may run code of the
        tools.
        """
        had = (self._shared.pop(session_id, None), self._held.pop(session_id, None))
        return [each for each in had if each]


class CurrentCall(Protocol):
    """The running code's call, which may be created on first use."""

    @property
    def call(self) -> Call: ...

    @property
    def cancellation(self) -> Cancellation: ...


CURRENT: ContextVar[CurrentCall] = ContextVar("snakepit_call")
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
# Stands for the `traceparent` of a call of which no trace is recorded: a bit says so, since
# most workers ask for no more.
NOT_SAMPLED = "-00"


def caller_headers(traceparent: str) -> dict[str, str]:
    """Returns the headers of a caller. For `NOT_SAMPLED`, they are those of a new
    trace, so that a sampler that ignores its parent's flag does not see another call's
    trace.
    """
    if traceparent == NOT_SAMPLED:
        digits = os.urandom(24).hex()
        traceparent = f"00-{digits[:32]}-{digits[32:]}-00"
    return {"traceparent": traceparent}


def current_call() -> Call:
    """Returns the call that this code runs for.

    It follows `contextvars`: into coroutines, tasks, `asyncio.to_thread`, and
    threads whose target runs in `contextvars.copy_context().run`.

    Raises:
        RuntimeError: no call runs here.
    """
    current = CURRENT.get(None)
    if current is None:
        raise RuntimeError(
            "no call runs here; in a test, create one with "
            "snakepit_bridge.testing.call_context(); in a thread of your own, run "
            "its target with contextvars.copy_context().run"
        )
    return current.call


def progress(fraction: float | None, message: str = "") -> None:
    """Reports the progress of the call that this code runs for.

    Report as often as you like: the caller gets at most ten reports a second, always
    the newest one, and the last one before the result. If nobody listens, a report
    costs about a microsecond. If no call runs, for example in a test that calls the
    tool as a function, it has no effect.

    Args:
        fraction: from 0 to 1; None if that is not known.
        message: what the tool is doing, for people; cut after 1,000 characters.

    Raises:
        ValueError: the fraction is not from 0 to 1.
        TypeError: the fraction is not a number, or the message is not a string.
    """
    current = CURRENT.get(None)
    if current is not None:
        current.call.progress(fraction, message)


class Call:
    """One call of a tool.

    Attributes:
        call_id: its number, for this worker.
        tool: the tool's name.
        handles: the objects that its session holds by reference in this worker.
        session: the dictionary that the tools of one session share in this worker;
            None if the call belongs to no session.
        deadline: when the call should have ended, on the clock of `time.monotonic()`;
            None without a deadline.
        trace_context: W3C `traceparent`, `tracestate` and `baggage` of the caller.
        logger: the logger `tool.<name>`; its records name this call.
    """

    # Attributes of the class if a call has none, which is usual.
    session: dict[str, Any] | None = None
    handles: NoHandles = NO_HANDLES
    deadline: float | None = None
    trace_context: Mapping[str, str] = _NO_HEADERS
    _input: InputStream | None = None
    _host_slots: HostCallSlots | None = None
    _progress: ProgressReports | None = None

    def __init__(
        self,
        call_id: int,
        tool: str,
        host: CallHost,
        cancellation: Cancellation,
        is_async: bool,
    ) -> None:
        """Called by the bridge."""
        self.call_id = call_id
        self.tool = tool
        self._host = host
        self._cancellation = cancellation
        self._is_async = is_async

    @property
    def input(self) -> InputStream:
        """The caller's input stream; empty if there is none."""
        if self._input is None:
            # Few tools look for an input stream that was not sent.
            from snakepit_bridge.calls.context.input_stream import InputStream

            self._input = InputStream(self._cancellation)
        if self._is_async:
            # Not a method of this call: that would be a reference cycle.
            self._input._may_block = refuse_to_block_the_loop
        return self._input

    @property
    def remaining(self) -> float | None:
        """Seconds until the deadline, 0 when it has passed; None without one."""
        if self.deadline is None:
            return None
        return max(0.0, self.deadline - time.monotonic())

    @property
    def cancelled(self) -> bool:
        """Whether the call was cancelled."""
        return self._cancellation.reason is not None

    @property
    def cancel_reason(self) -> CancelReason | None:
        """Why the call was cancelled; None if it was not."""
        return self._cancellation.reason

    @property
    def logger(self) -> logging.Logger:
        """The logger `tool.<name>`."""
        return logger(f"tool.{self.tool}")

    def raise_if_cancelled(self) -> None:
        """Raises `CallCancelled` if the call was cancelled.

        Use it in threads of your own, and in loops if the worker runs several calls at
        once.

        Raises:
            CallCancelled: it was.
        """
        self._cancellation.raise_if_requested()

    def progress(self, fraction: float | None, message: str = "") -> None:
        """Reports the progress of this call to the caller's `onProgress`; see
        `progress`.
        """
        # Few workers need it.
        from snakepit_bridge.calls.context.progress_reports import checked_report

        fraction, message = checked_report(fraction, message)
        if self._progress is not None:
            self._progress.report(fraction, message)

    def host(self, function: str, argument: object = None) -> Any:
        """Calls a function of the host and waits for its answer.

        Args:
            function: the name under which the host registered it.
            argument: its one argument.

        Raises:
            HostCallFailed: it failed, or there is no such function.
            ValueNotTransferable: the argument cannot cross.
            CallCancelled: the call was cancelled.
            RuntimeError: in an asynchronous tool, whose event loop this would
                block; use `host_async`.
        """
        # Few workers need it.
        from snakepit_bridge.calls.context.host_calls import Reply

        if self._is_async:
            refuse_to_block_the_loop()
        cancellation = self._cancellation
        cancellation.raise_if_requested()
        slots = self._slots()
        if not slots.take():
            self._wait_for_slot(slots)
        try:
            with Reply(function) as reply:
                number = self._host.send_host_call(
                    self.call_id, reply, encode(argument)
                )
                cancellation.watch(reply.wakeup)
                try:
                    reply.wakeup.wait(cancellation.or_requested(reply.is_answered))
                    if not reply.is_answered() or reply.is_call_over():
                        cancellation.raise_if_requested()
                    return reply.value()
                finally:
                    cancellation.forget(reply.wakeup)
                    if not reply.is_answered():
                        self._host.drop_host_call(number)
        finally:
            slots.give_back()

    async def host_async(self, function: str, argument: object = None) -> Any:
        """Calls a function of the host and awaits its answer.

        Args:
            function: the name under which the host registered it.
            argument: its one argument.

        Raises:
            HostCallFailed: it failed, or there is no such function.
            ValueNotTransferable: the argument cannot cross.
            CallCancelled: the caller of this call of a batch has left.
        """
        from snakepit_bridge.calls.context.host_calls import Reply

        slots = self._slots()
        if not slots.take():
            await _slot(slots)
        try:
            with Reply(function) as reply:
                number = self._host.send_host_call(
                    self.call_id, reply, encode(argument)
                )
                try:
                    await reply.wakeup.wait_async(reply.is_answered)
                    if reply.is_call_over():
                        self._cancellation.raise_if_requested()
                    return reply.value()
                finally:
                    if not reply.is_answered():
                        self._host.drop_host_call(number)
        finally:
            slots.give_back()

    def _slots(self) -> HostCallSlots:
        slots = self._host_slots
        if slots is None:
            from snakepit_bridge.calls.context.host_calls import HostCallSlots

            # Of several threads that are first, one makes those that all of them use.
            slots = self.__dict__.setdefault("_host_slots", HostCallSlots())
        return slots

    def _wait_for_slot(self, slots: HostCallSlots) -> None:
        """Blocks this thread until it has one; raises `CallCancelled` otherwise."""
        wakeup = Wakeup()
        taken = False

        def take() -> bool:
            nonlocal taken
            taken = slots.take_or_wait(wakeup)
            return taken

        self._cancellation.watch(wakeup)
        try:
            wakeup.wait(self._cancellation.or_requested(take))
            self._cancellation.raise_if_requested()
        except BaseException:
            if taken:
                slots.give_back()
            raise
        finally:
            self._cancellation.forget(wakeup)
            slots.leave(wakeup)


async def _slot(slots: HostCallSlots) -> None:
    """Suspends this coroutine until it has one."""
    wakeup = Wakeup()
    try:
        await wakeup.wait_async(lambda: slots.take_or_wait(wakeup))
    finally:
        slots.leave(wakeup)


def refuse_to_block_the_loop() -> None:
    """Raises in the main thread, in which the loop of asynchronous tools runs."""
    if threading.current_thread() is threading.main_thread():
        raise RuntimeError(
            "this would block the event loop of every asynchronous tool; "
            "await host_async() instead of host(), and use `async for`"
        )


class PresetCall:
    """See `CurrentCall`."""

    def __init__(self, call: Call) -> None:
        self.call = call

    @property
    def cancellation(self) -> Cancellation:
        return self.call._cancellation
