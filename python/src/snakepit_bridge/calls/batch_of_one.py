"""A batch in a worker that takes one call at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from snakepit_bridge.calls.batch_call import BatchCall
from snakepit_bridge.calls.context import CURRENT
from snakepit_bridge.calls.given_call import GivenCall
from snakepit_bridge.calls.trampoline import drive, invoke
from snakepit_bridge.tools.batch import batch_answers

__all__ = ["batch_of_one"]


def batch_of_one(together: Callable[..., Any], is_async: bool) -> Callable[..., Any]:
    """Returns a function that runs one call, with its one argument."""

    def made(positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        current = CURRENT.get(None)
        if current is not None:
            # Everything that follows in this context belongs to the call.
            batch = BatchCall([current.call], current.cancellation, is_async)
            CURRENT.set(GivenCall(batch))
        return invoke(together, [*positional, *keywords.values()])

    def run(*positional: Any, **keywords: Any) -> Any:
        return _only(made(positional, keywords))

    async def run_async(*positional: Any, **keywords: Any) -> Any:
        awaitable: Awaitable[Any] = made(positional, keywords)
        return _only(await drive(awaitable))

    return run_async if is_async else run


def _only(returned: object) -> object:
    (answer,) = batch_answers(returned, 1)
    if isinstance(answer, BaseException):
        raise answer
    return answer
