"""Asynchronous tools: coroutines and their streams, on the main thread's loop."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.calls.credit import Credit
from snakepit_bridge.calls.run_sync import failure_frame
from snakepit_bridge.calls.running_call import RunningCall
from snakepit_bridge.calls.trampoline import drive, invoke

__all__ = ["run_async_generator", "run_coroutine"]

_logger = logging.getLogger(__name__)


async def run_coroutine(running: RunningCall) -> pb.WorkerFrame:
    """Runs a tool that returns, and returns the call's terminal frame."""
    try:
        running.enter()
        arguments = running.arguments()
        made = invoke(
            running.tool.function, *arguments.positional, **arguments.keywords
        )
        return running.result(await drive(made))
    except BaseException as error:  # noqa: BLE001 - sys.exit() ends the call only
        return failure_frame(running, error)


async def run_async_generator(running: RunningCall, credit: Credit) -> pb.WorkerFrame:
    """Runs a tool that yields, and returns the call's terminal frame."""
    generator: AsyncIterator[Any] | None = None
    try:
        running.enter()
        arguments = running.arguments()
        function = running.tool.function
        made = invoke(function, *arguments.positional, **arguments.keywords)
        generator = aiter(made)
        while True:
            await credit.wakeup.wait_async(credit.available)
            try:
                value = await drive(anext(generator))
            except StopAsyncIteration:
                return running.end()
            running.send_chunk(value)
    except BaseException as error:  # noqa: BLE001 - sys.exit() ends the call only
        frame = failure_frame(running, error)
    await _close(running, generator)
    return frame


async def _close(running: RunningCall, generator: AsyncIterator[Any] | None) -> None:
    close = getattr(generator, "aclose", None)
    if close is None:
        return
    try:
        await drive(close())
    except BaseException:
        name = running.tool.name
        _logger.exception("the generator of %s failed while it was closed", name)
