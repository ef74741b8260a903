"""Runs the code of a tool: a function, a generator, a coroutine, or its stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from time import perf_counter_ns

from snakepit_bridge.bridge_log import logger
from snakepit_bridge.calls.cancel.trampoline import drive, invoke
from snakepit_bridge.calls.run.running_call import AwaitLater, RunningCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from snakepit_bridge.calls.run.credit import Credit
    from snakepit_bridge.calls.run.running_call import TerminalFrame

_CLOSE_FAILED = "the generator of %s failed while it was closed"


def run_function(
    running: RunningCall, begun_ns: int, *, in_queue: bool = False
) -> TerminalFrame | AwaitLater:
    """Runs a tool that returns, and returns the call's terminal frame."""
    try:
        positional, keywords = running.enter(begun_ns, in_queue=in_queue)
        value = invoke(running.tool.function, *positional, **keywords)
        running.shield()
        return running.result(value)
    except AwaitLater as later:
        return later
    except BaseException as error:  # noqa: BLE001 - sys.exit() ends the call only
        running.shield()
        return running.failed(error)


class GeneratorRun:
    """A tool that yields, advanced while the host grants credit."""

    def __init__(self, running: RunningCall, credit: Credit) -> None:
        self._running = running
        self._credit = credit
        self._generator: Iterator[Any] | None = None
        # What the tool has returned instead of a stream.
        self._returned: Any = None

    def advance(
        self, pause: Callable[[Callable[[], bool]], bool]
    ) -> TerminalFrame | AwaitLater | None:
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
                iterator = self._start()
                if iterator is None:
                    running.shield()
                    return running.end(self._returned)
                self._generator = iterator
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
        except AwaitLater as later:
            running.shield()
            return later
        except BaseException as error:  # noqa: BLE001 - sys.exit() ends the call only
            running.shield()
            frame = running.failed(error)
            self._close()
            return frame

    def _start(self) -> Iterator[Any] | None:
        """Calls the tool; returns None if it has made a result, and no stream."""
        tool = self._running.tool
        positional, keywords = self._running.enter(perf_counter_ns())
        returned = invoke(tool.function, *positional, **keywords)
        if tool.is_open and not hasattr(returned, "__next__"):
            if hasattr(returned, "__anext__") or hasattr(returned, "__await__"):
                raise AwaitLater(returned)
            self._returned = returned
            return None
        iterator: Iterator[Any] = iter(returned)
        return iterator

    def _close(self) -> None:
        close = getattr(self._generator, "close", None)
        if close is None:
            return
        try:
            invoke(close)
        except BaseException:  # noqa: BLE001 - it is logged
            logger(__name__).exception(_CLOSE_FAILED, self._running.tool.name)


async def run_coroutine(running: RunningCall, begun_ns: int) -> TerminalFrame:
    """Runs a tool that returns, and returns the call's terminal frame."""
    try:
        positional, keywords = running.enter(begun_ns, in_queue=True)
        coroutine = invoke(running.tool.function, *positional, **keywords)
        # A coroutine's own value is not awaited again.
        return running.result(await drive(coroutine))
    except BaseException as error:  # noqa: BLE001 - sys.exit() ends the call only
        return running.failed(error)


async def await_later(running: RunningCall, returned: Any) -> TerminalFrame:
    """Awaits what a tool has made, and returns the call's terminal frame."""
    credit = running.credit
    try:
        if hasattr(returned, "__await__"):
            returned = await drive(returned)
        if credit is None:
            return running.result(returned)
        if not hasattr(returned, "__anext__"):
            return running.end(returned)
    except BaseException as error:  # noqa: BLE001 - sys.exit() ends the call only
        return running.failed(error)
    return await run_async_generator(running, credit, returned)


async def run_async_generator(
    running: RunningCall, credit: Credit, returned: Any = None
) -> TerminalFrame:
    """Runs a tool that yields, and returns the call's terminal frame.

    `made` is what it has made, if it was called already.
    """
    # Few tools are such generators, and each import makes every start slower.
    from snakepit_bridge.tools.stream_result import Result

    generator: AsyncIterator[Any] | None = None
    try:
        if returned is None:
            positional, keywords = running.enter(perf_counter_ns(), in_queue=True)
            returned = invoke(running.tool.function, *positional, **keywords)
        generator = aiter(returned)
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
        frame = running.failed(error)
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
