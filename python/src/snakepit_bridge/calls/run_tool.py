"""Runs the code of a tool: a function, a generator, a coroutine, or its stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from snakepit_bridge.bridge_log import logger
from snakepit_bridge.calls.running_call import RunningCall
from snakepit_bridge.calls.trampoline import drive, invoke
from snakepit_bridge.failures.failure import cancelled, failure_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from snakepit_bridge.calls.call_sink import TerminalFrame
    from snakepit_bridge.calls.credit import Credit

__all__ = [
    "GeneratorRun",
    "ResultNotLast",
    "expect_end",
    "failure_frame",
    "run_async_generator",
    "run_coroutine",
    "run_function",
]

_CLOSE_FAILED = "the generator of %s failed while it was closed"


def run_function(running: RunningCall) -> TerminalFrame:
    """Runs a tool that returns, and returns the call's terminal frame."""
    try:
        positional, keywords = running.enter()
        running.cancellation.raise_if_requested()
        value = invoke(running.tool.function, *positional, **keywords)
        running.shield()
        return running.result(value)
    except BaseException as error:  # noqa: BLE001 - sys.exit() ends the call only
        running.shield()
        return failure_frame(running, error)


def failure_frame(running: RunningCall, error: BaseException) -> TerminalFrame:
    """Returns the terminal frame of a call whose tool raised."""
    call_id = running.number
    reason = running.cancellation.reason
    if reason is not None:
        # Whatever a cancelled tool raises, the reason is its cancellation.
        return cancelled(call_id, reason, error, began=running.began)
    return failure_of(call_id, error, began=running.began)


class GeneratorRun:
    """A tool that yields, advanced while the host grants credit."""

    def __init__(self, running: RunningCall, credit: Credit) -> None:
        self._running = running
        self._credit = credit
        self._generator: Iterator[Any] | None = None

    def advance(
        self, pause: Callable[[Callable[[], bool]], bool]
    ) -> TerminalFrame | None:
        """Advances as far as the credit goes.

        Args:
            pause: waits until its argument returns true, then returns true; or returns
                false at once and calls `advance` again later.

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
        positional, keywords = self._running.enter()
        made = invoke(self._running.tool.function, *positional, **keywords)
        iterator: Iterator[Any] = iter(made)
        return iterator

    def _close(self) -> None:
        close = getattr(self._generator, "close", None)
        if close is None:
            return
        try:
            invoke(close)
        except BaseException:  # noqa: BLE001 - it is logged
            logger(__name__).exception(_CLOSE_FAILED, self._running.tool.name)


async def run_coroutine(running: RunningCall) -> TerminalFrame:
    """Runs a tool that returns, and returns the call's terminal frame."""
    try:
        positional, keywords = running.enter()
        made = invoke(running.tool.function, *positional, **keywords)
        return running.result(await drive(made))
    except BaseException as error:  # noqa: BLE001 - sys.exit() ends the call only
        return failure_frame(running, error)


async def run_async_generator(running: RunningCall, credit: Credit) -> TerminalFrame:
    """Runs a tool that yields, and returns the call's terminal frame."""
    # Few tools are such generators, and each import makes every start slower.
    from snakepit_bridge.tools.stream_result import Result

    generator: AsyncIterator[Any] | None = None
    try:
        positional, keywords = running.enter()
        made = invoke(running.tool.function, *positional, **keywords)
        generator = aiter(made)
        while True:
            await credit.wakeup.wait_async(credit.available)
            try:
                value = await drive(anext(generator))
            except StopAsyncIteration:
                return running.end()
            if isinstance(value, Result):
                await expect_end(drive(anext(generator)))
                return running.end(value.value)
            running.send_chunk(value)
    except BaseException as error:  # noqa: BLE001 - sys.exit() ends the call only
        frame = failure_frame(running, error)
    await _close(running, generator)
    return frame


class ResultNotLast(Exception):
    """An asynchronous generator yielded an item after its `Result`."""


async def expect_end(step: Awaitable[Any]) -> None:
    """Awaits the step of an asynchronous generator after its `Result`.

    Raises:
        ResultNotLast: it yields another item.
    """
    try:
        value = await step
    except StopAsyncIteration:
        return
    raise ResultNotLast(
        f"the stream yielded {type(value).__name__} after its Result; yield the Result last"
    )


async def _close(running: RunningCall, generator: AsyncIterator[Any] | None) -> None:
    close = getattr(generator, "aclose", None)
    if close is None:
        return
    try:
        await drive(close())
    except BaseException:  # noqa: BLE001 - it is logged
        logger(__name__).exception(_CLOSE_FAILED, running.tool.name)
