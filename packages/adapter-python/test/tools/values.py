"""What Python makes of values, and values that only Python makes."""

from collections.abc import Generator, Iterator
from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy
from snakepit_bridge import NdArray, current_call, tool

NAMES = {
    "NdArray": NdArray,
    "date": date,
    "datetime": lambda *fields: datetime(
        *(timezone.utc if field == "utc" else field for field in fields)
    ),
    "timedelta": timedelta,
    "timezone": timezone,
    "numpy": numpy,
    "utc": "utc",
}


@tool
def echo(value: Any) -> Any:
    return value


@tool
def seen(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"


@tool
def evaluated(expression: str) -> Any:
    return eval(expression, NAMES)


@tool
def pieces(size: int, count: int) -> Iterator[bytes]:
    for number in range(count):
        yield bytes([number]) * size


@tool
def pieces_and_result(
    size: int, count: int, result: int
) -> Generator[bytes, None, bytes]:
    yield from pieces(size, count)
    return b"r" * result


@tool
def doubled(array: Any) -> Any:
    array *= 2
    return array


@tool
def large_in_spite_of_a_cancel(size: int) -> bytes:
    try:
        current_call().host("begun")
    finally:
        return bytes(size)  # noqa: B012 - a result in spite of the cancellation


@tool
def large_unless_cancelled(size: int) -> bytes:
    result = bytes(size)
    current_call().host("begun")
    return result
