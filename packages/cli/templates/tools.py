from collections.abc import Iterator

from snakepit_bridge import tool


@tool
def greet(name: str, times: int = 1) -> list[str]:
    """Says hello."""
    return [f"Hello, {name}!"] * times


@tool
def mean(numbers: list[float]) -> float:
    """The arithmetic mean."""
    return sum(numbers) / len(numbers)


@tool
def squares(below: int) -> Iterator[int]:
    """The square numbers, one after the other."""
    for n in range(below):
        yield n * n
