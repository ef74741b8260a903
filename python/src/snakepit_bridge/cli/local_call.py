"""One call without a host, in this process."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from typing import Any

from snakepit_bridge.calls.cancellation import Cancellation
from snakepit_bridge.calls.context import CURRENT, Call
from snakepit_bridge.calls.host_calls import HostCallFailed, Reply
from snakepit_bridge.calls.input_stream import InputStream
from snakepit_bridge.calls.trampoline import drive, invoke
from snakepit_bridge.threads.main_thread import MainThread
from snakepit_bridge.tools.binding import bind
from snakepit_bridge.tools.tool import Tool, ToolKind
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

__all__ = ["run_locally"]


class _NoHost:
    """Answers host calls where there is no host."""

    def send_host_call(self, call_id: int, reply: Reply, argument: bytes) -> int:
        problem = (
            "there is no host here; in a test, use snakepit_bridge.testing.call_context"
        )
        raise HostCallFailed(reply.function, "NO_HOST", problem)

    def drop_host_call(self, host_call_id: int) -> None:
        """Nothing was sent."""


def run_locally(
    tool: Tool,
    given: Any,
    main: MainThread,
    *,
    items: Iterable[Any] | None = None,
    timeout: float | None = None,
) -> Generator[Any, None, Any]:
    """Runs a tool; yields its result or its chunks, as they would arrive.

    Returns what a generator returns after its last chunk; None in any other case.

    Raises:
        ArgumentsInvalid: the arguments do not fit.
        NoImage: an argument, an item or an answer cannot cross.
    """
    positional, keywords = bind(tool.signature, decode(encode(given)))
    CURRENT.set(_call(tool, items, timeout))
    made = invoke(tool.function, *positional, **keywords)
    if tool.kind is ToolKind.FUNCTION:
        yield _crossed(made)
    elif tool.kind is ToolKind.COROUTINE:
        yield _crossed(main.loop.run_until_complete(drive(made)))
    elif tool.kind is ToolKind.GENERATOR:
        steps = iter(made)
        while True:
            try:
                yield _crossed(invoke(next, steps))
            except StopIteration as end:
                return _crossed(end.value)
    else:
        generator = aiter(made)
        while True:
            try:
                yield _crossed(main.loop.run_until_complete(drive(anext(generator))))
            except StopAsyncIteration:
                break
    return None


def _crossed(value: object) -> Any:
    return decode(encode(value))


def _call(tool: Tool, items: Iterable[Any] | None, timeout: float | None) -> Call:
    cancellation = Cancellation()
    if items is None:
        stream = InputStream(cancellation)
    else:
        stream = InputStream(cancellation, tool.input, lambda _items: None)
        for item in items:
            stream.put(encode(item, "$input"))
        stream.end("")
    return Call(
        1,
        tool.name,
        session={},
        deadline=None if timeout is None else time.monotonic() + timeout,
        trace_context={},
        host=_NoHost(),
        input_stream=stream,
        cancellation=cancellation,
        is_async=tool.kind.is_async,
    )
