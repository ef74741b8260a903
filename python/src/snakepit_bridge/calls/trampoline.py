"""The frames beneath which user code runs.

A cancel signal raises only where one of them is on the stack, above the frames
of the bridge that take the exception: so it cannot escape, whenever it comes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

__all__ = ["TRAMPOLINES", "drive", "invoke"]


def invoke(function: Callable[..., Any], /, *positional: Any, **keywords: Any) -> Any:
    """Calls user code."""
    return function(*positional, **keywords)


async def drive(awaitable: Awaitable[Any]) -> Any:
    """Awaits user code."""
    return await awaitable


TRAMPOLINES: Final = frozenset({invoke.__code__, drive.__code__})
