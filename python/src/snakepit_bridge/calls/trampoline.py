"""The functions through which the bridge calls user code.

A cancel signal raises only while one of them is on the stack, above frames of the
bridge that catch the exception: so it cannot escape, whenever it comes. A copy of the
worker that user code has forked ends here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from snakepit_bridge.boot import forked_copy

__all__ = ["TRAMPOLINES", "drive", "invoke"]


def invoke(function: Callable[..., Any], /, *positional: Any, **keywords: Any) -> Any:
    """Calls user code."""
    try:
        return function(*positional, **keywords)
    finally:
        if forked_copy.this_is_one:
            forked_copy.end()


async def drive(awaitable: Awaitable[Any]) -> Any:
    """Awaits user code."""
    try:
        return await awaitable
    finally:
        if forked_copy.this_is_one:
            forked_copy.end()


TRAMPOLINES: Final = frozenset({invoke.__code__, drive.__code__})
