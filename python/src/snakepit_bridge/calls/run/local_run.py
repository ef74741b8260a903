"""One run of a tool without a host, in this process."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from snakepit_bridge.calls.cancel.trampoline import drive, invoke
from snakepit_bridge.calls.context.call import CURRENT, Call, PresetCall
from snakepit_bridge.calls.run.run_tool import expect_end
from snakepit_bridge.tools.binding import bind
from snakepit_bridge.tools.stream_result import Result
from snakepit_bridge.tools.tool import Tool, ToolKind
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode


def run_locally(
    tool: Tool, arguments: Any, call: Call, complete: Callable[[Any], Any]
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
        ValueNotTransferable: an argument, an item or an answer cannot cross.
        ResultNotLast: an item follows the `Result`.
    """
    positional, keywords = bind(tool.signature, decode(encode(arguments)))
    CURRENT.set(PresetCall(call))
    returned = invoke(tool.function, *positional, **keywords)
    kind = _kind_of(tool, returned)
    if kind is ToolKind.COROUTINE:
        call._is_async = True
        yield _crossed(complete(drive(returned)))
    elif kind is ToolKind.FUNCTION:
        yield _crossed(returned)
    elif kind is ToolKind.GENERATOR:
        steps = iter(returned)
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
        generator = aiter(returned)
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


def _kind_of(tool: Tool, returned: Any) -> ToolKind:
    """Returns how a call goes on that has made this."""
    if tool.kind is ToolKind.FUNCTION:
        if tool.awaits and hasattr(returned, "__await__"):
            return ToolKind.COROUTINE
        if tool.is_open and hasattr(returned, "__anext__"):
            return ToolKind.ASYNC_GENERATOR
        if tool.is_open and hasattr(returned, "__next__"):
            return ToolKind.GENERATOR
    return tool.kind


def _crossed(value: object) -> Any:
    return decode(encode(value))
