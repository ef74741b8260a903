"""A batch that no host made, for the code of a test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from snakepit_bridge.calls.batch_call import BatchCall
from snakepit_bridge.calls.cancellation import Cancellation
from snakepit_bridge.testing.call_context import (
    HostFunction,
    LocalCall,
    call_context,
    current,
)

__all__ = ["batch_context"]


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
    made: list[LocalCall] = []
    for number in range(1, calls + 1):
        with call_context(tool, timeout=timeout, host_functions=host_functions) as call:
            call.call_id = number
            made.append(call)
    with current(BatchCall(made, Cancellation(), is_async=False)):
        yield tuple(made)
