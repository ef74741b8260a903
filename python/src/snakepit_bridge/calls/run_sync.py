"""Synchronous tools: a function's call, and a generator's steps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.calls.credit import Credit
from snakepit_bridge.calls.running_call import RunningCall
from snakepit_bridge.calls.trampoline import invoke
from snakepit_bridge.failures.failure import cancelled, failure_of

__all__ = ["GeneratorRun", "failure_frame", "run_function"]

_logger = logging.getLogger(__name__)


def run_function(running: RunningCall) -> pb.WorkerFrame:
    """Runs a tool that returns, and returns the call's terminal frame."""
    try:
        running.enter()
        arguments = running.arguments()
        running.cancellation.raise_if_requested()
        value = invoke(
            running.tool.function, *arguments.positional, **arguments.keywords
        )
        running.shield()
        return running.result(value)
    except BaseException as error:  # noqa: BLE001 - sys.exit() ends the call only
        running.shield()
        return failure_frame(running, error)


def failure_frame(running: RunningCall, error: BaseException) -> pb.WorkerFrame:
    """Returns the terminal frame of a call whose tool raised."""
    call_id = running.call.call_id
    reason = running.cancellation.reason
    if reason is not None:
        # Whatever a cancelled tool raises, it raises because of that.
        return cancelled(call_id, reason, error, began=running.began)
    return failure_of(call_id, error, began=running.began)


class GeneratorRun:
    """A tool that yields, advanced while the host wants chunks."""

    def __init__(self, running: RunningCall, credit: Credit) -> None:
        self._running = running
        self._credit = credit
        self._generator: Iterator[Any] | None = None

    def advance(
        self, pause: Callable[[Callable[[], bool]], bool]
    ) -> pb.WorkerFrame | None:
        """Advances as far as the credit goes.

        Args:
            pause: waits until its argument returns true and returns true then;
                or returns false at once and has `advance` called again later.

        Returns:
            The call's terminal frame, or None if it was paused.
        """
        running = self._running
        wanted = running.cancellation.or_requested(self._credit.available)
        try:
            if self._generator is None:
                self._generator = self._start()
            while True:
                if not wanted() and not pause(wanted):
                    return None
                running.cancellation.raise_if_requested()
                try:
                    value = invoke(next, self._generator)
                except StopIteration as end:
                    returned = end.value
                    break
                running.send_chunk(value)
            running.shield()
            return running.end(returned)
        except BaseException as error:  # noqa: BLE001 - sys.exit() ends the call only
            running.shield()
            frame = failure_frame(running, error)
            self._close()
            return frame

    def _start(self) -> Iterator[Any]:
        self._running.enter()
        arguments = self._running.arguments()
        function = self._running.tool.function
        made = invoke(function, *arguments.positional, **arguments.keywords)
        iterator: Iterator[Any] = iter(made)
        return iterator

    def _close(self) -> None:
        close = getattr(self._generator, "close", None)
        if close is None:
            return
        try:
            invoke(close)
        except BaseException:
            name = self._running.tool.name
            _logger.exception("the generator of %s failed while it was closed", name)
