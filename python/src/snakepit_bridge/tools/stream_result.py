"""The last item of an asynchronous generator."""

from __future__ import annotations

import types
import typing
from typing import Any, Generic, TypeVar

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


def stream_parts(annotation: Any) -> tuple[Any, Any]:
    """Returns the type of the items, and that of the result; None where the annotation
    says nothing about it."""
    parts = typing.get_args(annotation)
    if len(parts) == 3:
        # Of a `Generator`: what it yields, is sent and returns.
        return parts[0], parts[2]
    if not parts:
        return Any, None
    is_union = typing.get_origin(parts[0]) in (typing.Union, types.UnionType)
    members = typing.get_args(parts[0]) if is_union else parts[:1]
    results = [each for each in members if (typing.get_origin(each) or each) is Result]
    if not results:
        return parts[0], None
    items = tuple(each for each in members if each not in results)
    values = tuple((*typing.get_args(each), Any)[0] for each in results)
    return _one_of(items) if items else Any, _one_of(values)


def _one_of(members: tuple[Any, ...]) -> Any:
    return typing.Union[members]  # noqa: UP007
