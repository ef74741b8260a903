"""One run of a tool without a host, in this process."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from snakepit_bridge.calls.context import CURRENT, Call
from snakepit_bridge.calls.given_call import GivenCall
from snakepit_bridge.calls.run_tool import expect_end
from snakepit_bridge.calls.trampoline import drive, invoke
from snakepit_bridge.tools.binding import bind
from snakepit_bridge.tools.stream_result import Result
from snakepit_bridge.tools.tool import Tool, ToolKind
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

__all__ = ["run_locally"]


def run_locally(
    tool: Tool, given: Any, call: Call, complete: Callable[[Any], Any]
) -> Generator[Any, None, Any]:
    """Runs a tool; yields its result or its chunks, as they would arrive.

    Returns what a generator returns after its last chunk, or an asynchronous one yields
    as its `Result`; None in any other case.

    Args:
        tool: the tool.
        given: its arguments; they cross as from a host.
        call: what `current_call()` returns to the tool.
        complete: runs a coroutine to its end, each time in the same loop.

    Raises:
        ArgumentsInvalid: the arguments do not fit.
        NoImage: an argument, an item or an answer cannot cross.
        ResultNotLast: an item follows the `Result`.
    """
    positional, keywords = bind(tool.signature, decode(encode(given)))
    CURRENT.set(GivenCall(call))
    made = invoke(tool.function, *positional, **keywords)
    if tool.kind is ToolKind.FUNCTION:
        yield _crossed(made)
    elif tool.kind is ToolKind.COROUTINE:
        yield _crossed(complete(drive(made)))
    elif tool.kind is ToolKind.GENERATOR:
        steps = iter(made)
        try:
            while True:
                try:
                    yield _crossed(invoke(next, steps))
                except StopIteration as end:
                    return _crossed(end.value)
        finally:
            close = getattr(steps, "close", None)
            if close is not None:
                close()
    else:
        generator = aiter(made)
        while True:
            try:
                value = complete(drive(anext(generator)))
            except StopAsyncIteration:
                break
            if isinstance(value, Result):
                complete(expect_end(drive(anext(generator))))
                return _crossed(value.value)
            yield _crossed(value)
    return None


def _crossed(value: object) -> Any:
    return decode(encode(value))
