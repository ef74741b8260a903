"""What an asynchronous generator yields last."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["Result"]

_Value_co = TypeVar("_Value_co", covariant=True)


class Result(Generic[_Value_co]):
    """What an asynchronous generator yields last, as it cannot return a value: the
    `result` of its stream.

    @tool
    async def answer(prompt: str) -> AsyncIterator[str | Result[Usage]]:
        ...
        yield Result(usage)

    A generator under `def` returns its result instead: `return usage`.
    """

    __slots__ = ("value",)

    def __init__(self, value: _Value_co) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Result({self.value!r})"
