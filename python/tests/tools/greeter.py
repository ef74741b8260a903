"""A few tools with nothing special about them."""

import os
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

from snakepit_bridge import current_call, tool


@tool
def greet(name: str, times: int = 1) -> str:
    """Greets somebody."""
    return " ".join([f"Hello {name}!"] * times)


@tool
async def greet_later(name: str) -> str:
    return greet(name)


@tool
def count(n: int) -> Iterator[int]:
    yield from range(n)


@tool
async def count_later(n: int) -> AsyncIterator[int]:
    for i in range(n):
        yield i


@tool
def echo(value: Any) -> Any:
    return value


@tool
def large(size: int) -> bytes:
    return bytes(size)


@tool
def odd() -> Any:
    return {"a": [object()]}


@tool
def odd_chunk() -> Iterator[Any]:
    yield 1
    yield object()


@tool
def call_number() -> int:
    return current_call().call_id


@tool
def pid() -> int:
    return os.getpid()


@tool
def leave() -> None:
    sys.exit("gone")


@tool
async def leave_later() -> None:
    raise KeyboardInterrupt
