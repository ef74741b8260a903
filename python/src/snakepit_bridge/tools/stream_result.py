"""The last item of an asynchronous generator."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["Result"]

_Value_co = TypeVar("_Value_co", covariant=True)


class Result(Generic[_Value_co]):
    """The `result` of a stream. An asynchronous generator yields it last, because it
    cannot return a value:

    @tool
    async def answer(prompt: str) -> AsyncIterator[str | Result[Usage]]:
        ...
        yield Result(usage)

    A synchronous generator returns its result instead: `return usage`.
    """

    __slots__ = ("value",)

    def __init__(self, value: _Value_co) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Result({self.value!r})"
