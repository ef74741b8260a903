"""The functions through which the bridge calls user code.

A cancel signal raises only while one of them is on the stack, above frames of the
bridge that catch the exception: so it cannot escape, whenever it is raised. A copy of
the worker that user code has forked ends here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from snakepit_bridge.boot import forked_copy
from snakepit_bridge.calls.context.call import CURRENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final


def invoke(function: Callable[..., Any], /, *positional: Any, **keywords: Any) -> Any:
    """Calls user code."""
    try:
        return function(*positional, **keywords)
    finally:
        if forked_copy.this_is_one:
            forked_copy.end()


def invoke_for(call: Any, function: Callable[..., Any], arguments: list[Any], /) -> Any:
    """Calls user code for a call, with what a list gives; the current context becomes
    the call's own."""
    CURRENT.set(call)
    try:
        return function(*arguments)
    finally:
        if forked_copy.this_is_one:
            forked_copy.end()


def invoke_by_name_for(
    call: Any, function: Callable[..., Any], arguments: dict[str, Any], /
) -> Any:
    """Does the same with what a dict gives."""
    CURRENT.set(call)
    try:
        return function(**arguments)
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


async def drive_for(
    call: Any, function: Callable[..., Any], arguments: list[Any], /
) -> Any:
    """Awaits user code for a call, with what a list gives; the current context becomes
    the call's own."""
    CURRENT.set(call)
    try:
        return await function(*arguments)
    finally:
        if forked_copy.this_is_one:
            forked_copy.end()


async def drive_by_name_for(
    call: Any, function: Callable[..., Any], arguments: dict[str, Any], /
) -> Any:
    """Does the same with what a dict gives."""
    CURRENT.set(call)
    try:
        return await function(**arguments)
    finally:
        if forked_copy.this_is_one:
            forked_copy.end()


TRAMPOLINES: Final = frozenset(
    each.__code__
    for each in (
        invoke,
        invoke_for,
        invoke_by_name_for,
        drive,
        drive_for,
        drive_by_name_for,
    )
)
