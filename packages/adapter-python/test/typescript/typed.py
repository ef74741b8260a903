"""A tool for each kind of value, and tools that are hard to write as types."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterable, Iterator, Sequence
from datetime import date, datetime
from typing import Any, Literal, TypedDict

import numpy
from numpy.typing import NDArray
from snakepit_bridge import NdArray, current_call, tool, toolset

Choice = Literal["a", 2, -3, True] | None


class Labelled(TypedDict):
    label: str


class Box(Labelled, total=False):
    """A box, and perhaps what is in it."""

    corner: tuple[int, float]
    inside: Box


@tool
def integer(value: int) -> int:
    return value


@tool
def number(value: float) -> float:
    return value


@tool
def text(value: str) -> str:
    return value


@tool
def flag(value: bool) -> bool:
    return value


@tool
def nothing(value: None) -> None:
    return value


@tool
def binary(value: bytes) -> bytes:
    return value


@tool
def mutable(value: bytearray) -> bytearray:
    return value


@tool
def moment(value: datetime) -> datetime:
    return value


@tool
def day(value: date) -> date:
    return value


@tool
def numbers(value: list[float]) -> list[float]:
    return value


@tool
def words(value: Sequence[str]) -> list[str]:
    return list(value)


@tool
def sizes(value: dict[str, int]) -> dict[str, int]:
    return value


@tool
def by_number(value: dict[int, str]) -> dict[int, str]:
    return value


@tool
def by_either(value: dict[int | str, bool]) -> dict[int | str, bool]:
    return value


@tool
def by_choice(value: dict[Literal["x", "y"], int]) -> dict[Literal["x", "y"], int]:
    return value


@tool
def pair(value: tuple[int, str]) -> tuple[int, str]:
    return value


@tool
def run(value: tuple[float, ...]) -> tuple[float, ...]:
    return value


@tool
def cells(value: set[tuple[int, str]]) -> set[tuple[int, str]]:
    return value


@tool
def frozen(value: frozenset[str]) -> frozenset[str]:
    return value


@tool
def floats(value: NDArray[numpy.float32]) -> NDArray[numpy.float32]:
    return value


@tool
def pixels(value: NDArray[numpy.uint8]) -> NDArray[numpy.uint8]:
    return value


@tool
def array(value: NdArray) -> NdArray:
    return value


@tool
def box(value: Box) -> Box:
    return value


@tool
def labelled(value: Labelled) -> Labelled:
    return value


@tool
def choice(value: Choice) -> Choice:
    return value


@tool
def either(value: int | list[str] | None) -> int | list[str] | None:
    return value


@tool
def anything(value: Any) -> Any:
    return value


@tool
def iterable(value: Iterable[int]) -> Iterable[int]:
    return set(value)


@tool
def sequence(value: Sequence[str]) -> Sequence[str]:
    return "".join(value)


@tool
def odd() -> Path | None:
    return None


@tool
def greet(name: str, times: int = 1) -> list[str]:
    """Says hello. */ syntax error"""
    return [f"Hello, {name}!"] * times


@tool
def optional(first: int = 1, /, second: str | None = None) -> tuple[int, str | None]:
    """Takes what it is given.

    @ts-expect-error
    """
    return first, second


@tool
def placed(first: int = 1, second: int = 2, /, third: int = 3) -> list[int]:
    return [first, second, third]


@tool
def keyword(place: int = 0, *, key: str) -> str:
    return f"{place}{key}"


@tool
def rest(first: str, *rest: int) -> list[int]:
    return [len(first), *rest]


@tool
def others(first: str = "", *, hm: bool = False, **others: int) -> dict[str, int]:
    return others


@tool
def counts(**counts: int) -> dict[str, int]:
    return counts


@tool
def count(below: int) -> Iterator[int]:
    yield from range(below)


@tool
def count_and_total(below: int) -> Generator[int, None, dict[str, int]]:
    yield from range(below)
    return {"total": sum(range(below))}


@tool
def count_widely(below: int) -> Iterable[int]:
    yield from range(below)


@tool
async def count_later(below: int) -> AsyncIterator[int]:
    for number in range(below):
        yield number


@tool(input=float)
def running_sum() -> Iterator[float]:
    """Adds up."""
    total = 0.0
    for number in current_call().input:
        total += number
        yield total


@tool(name="new")
def new(constructor: int, function: int, new: int, größe: int) -> int:
    return constructor + function + new + größe


@tool(name='a "name" \\ */\n')
def named() -> str:
    return "named"


@toolset(prefix="counter.")
class Counter:
    """A toolset."""

    @tool
    def next(self, by: int = 1) -> int:
        """Counts on."""
        return by


# Of a result only: no value that crosses is one, so that nothing is promised.
class Path:
    """Where something is."""
