"""What our workers answer with."""

import functools
import hashlib
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from snakepit_bridge import current_call, tool

items_produced = 0


@tool
def echo(value: Any) -> Any:
    return value


@tool
async def echo_async(value: Any) -> Any:
    return value


@tool
def say(value: str) -> None:
    print(value, flush=True)


@tool
def say_often(value: str, times: int) -> None:
    for _ in range(times):
        print(value)
    sys.stdout.flush()


@tool
def double(number: int) -> int:
    return 2 * number


@tool
def double_all(numbers: list[int]) -> list[int]:
    return [2 * number for number in numbers]


@tool(input=int)
def double_each() -> Iterator[int]:
    for number in current_call().input:
        yield 2 * number


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
def sleep_for_5_ms() -> None:
    time.sleep(0.005)


@functools.cache
def a_megabyte() -> bytes:
    return bytes(1_000_000)


@tool
def hash_1_mb() -> bytes:
    return hashlib.sha256(a_megabyte()).digest()


@functools.cache
def a_matrix() -> Any:
    # Not for the tools that need none: it takes time and memory.
    import numpy as np

    return np.ones((256, 256))


@tool
def multiply_matrices() -> None:
    matrix = a_matrix()
    matrix @ matrix


@tool
def count_in_python() -> int:
    """Holds Python's lock, where there is one."""
    total = 0
    for number in range(100_000):
        total += number
    return total


@tool
def lock_is_enabled() -> bool:
    ask = getattr(sys, "_is_gil_enabled", None)
    return ask is None or ask()


@tool
def produced() -> int:
    return items_produced


@tool
def crash() -> None:
    os._exit(7)
