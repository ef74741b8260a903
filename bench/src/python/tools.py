"""What our workers answer with."""

import os
from collections.abc import Iterator
from typing import Any

from snakepit_bridge import tool

items_produced = 0


@tool
def echo(value: Any) -> Any:
    return value


@tool
async def echo_async(value: Any) -> Any:
    return value


@tool
def take(data: bytes) -> int:
    return len(data)


@tool
def give(size: int) -> bytes:
    return bytes(size)


@tool
def echo_array(array: Any) -> Any:
    """numpy has it in between; a list would have failed."""
    return array.view()


@tool
def produce(items: int, size: int) -> Iterator[bytes]:
    global items_produced
    items_produced = 0
    item = bytes(size)
    for _ in range(items):
        items_produced += 1
        yield item


@tool
def produced() -> int:
    return items_produced


@tool
def crash() -> None:
    os._exit(7)
