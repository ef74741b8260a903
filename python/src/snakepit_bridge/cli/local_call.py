"""The call that a command of this process makes."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from snakepit_bridge.calls.cancellation import Cancellation
from snakepit_bridge.calls.context import Call
from snakepit_bridge.calls.host_calls import HostCallFailed, Reply
from snakepit_bridge.calls.input_stream import InputStream
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.values.encode import encode

__all__ = ["local_call"]


class _NoHost:
    """Answers host calls where there is no host."""

    def send_host_call(self, call_id: int, reply: Reply, argument: bytes) -> int:
        problem = (
            "there is no host here; in a test, use snakepit_bridge.testing.call_context"
        )
        raise HostCallFailed(reply.function, "NO_HOST", problem)

    def drop_host_call(self, host_call_id: int) -> None:
        """Nothing was sent."""


def local_call(tool: Tool, items: Iterable[Any] | None, timeout: float | None) -> Call:
    """Makes a call that no host made.

    Args:
        tool: the tool that is called.
        items: those of the input stream; None for no stream.
        timeout: seconds until its deadline; None for none.

    Raises:
        NoImage: an item cannot cross.
    """
    cancellation = Cancellation()
    if items is None:
        stream = InputStream(cancellation)
    else:
        stream = InputStream(cancellation, tool.input, lambda _items: None)
        for item in items:
            stream.put(encode(item, "$input"))
        stream.end("")
    call = Call(1, tool.name, _NoHost(), cancellation, tool.is_async)
    call.session = {}
    if timeout is not None:
        call.deadline = time.monotonic() + timeout
    call._input = stream
    return call
