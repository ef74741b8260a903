"""What is read of a function itself is what `inspect` says of it."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from snakepit_bridge.tools import function_shape as shape


def nothing() -> None: ...


def all_kinds(
    a: int, /, b: int, c: int = 1, *d: int, e: int, f: int = 2, **g: int
) -> None: ...


def by_name_only(*, e: int = 3, f: int) -> None: ...


def defaults_before_slash(a: int = 1, /, b: int = 2) -> None: ...


def rest_and_local(*rest: int) -> int:
    local = len(rest)
    return local


def generator(a: int) -> Iterator[int]:
    yield a


async def coroutine(a: int) -> None: ...


async def async_generator(a: int) -> AsyncIterator[int]:
    yield a


@functools.wraps(coroutine)
def wraps_a_coroutine(*arguments: Any) -> Any:
    return coroutine(*arguments)


def signed(*arguments: Any) -> None: ...


signed.__signature__ = inspect.signature(all_kinds)  # type: ignore[attr-defined]


class Things:
    def method(self, a: int, b: int = 1) -> None: ...

    def without_self(*arguments: int) -> None: ...

    @classmethod
    def of_class(cls, a: int) -> None: ...

    @staticmethod
    def static(a: int) -> None: ...

    async def coroutine(self) -> None: ...

    def __call__(self, a: int) -> None: ...


FUNCTIONS: list[Callable[..., Any]] = [
    nothing,
    all_kinds,
    by_name_only,
    defaults_before_slash,
    rest_and_local,
    generator,
    coroutine,
    async_generator,
    wraps_a_coroutine,
    signed,
    functools.partial(all_kinds, 1, e=4),
    functools.partial(coroutine, 1),
    functools.partial(generator, 1),
    functools.partial(async_generator, 1),
    lambda a, b=2: a,
    Things,
    Things(),
    Things.method,
    Things().method,
    Things().without_self,  # type: ignore[misc]
    Things.of_class,
    Things.static,
    Things().coroutine,
    sorted,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_it_is_what_inspect_says(function: Callable[..., Any]) -> None:
    found = [
        (each.name, each.kind, each.default) for each in shape.parameters_of(function)
    ]
    expected = [
        (
            each.name,
            int(each.kind),
            shape.NO_DEFAULT if each.default is each.empty else each.default,
        )
        for each in inspect.signature(function).parameters.values()
    ]
    assert found == expected
    assert shape.is_generator(function) == inspect.isgeneratorfunction(function)
    assert shape.is_coroutine(function) == inspect.iscoroutinefunction(function)
    asynchronous = inspect.isasyncgenfunction(function)
    assert shape.is_async_generator(function) == asynchronous
    assert shape.unwrapped(function) is inspect.unwrap(function)


ORDINARY: list[tuple[Callable[..., Any], int]] = [
    (all_kinds, 7),
    (generator, 1),
    (coroutine, 1),
    (async_generator, 1),
    (Things().method, 2),
    (Things.of_class, 1),
    (Things().coroutine, 0),
]


@pytest.mark.parametrize(("function", "parameters"), ORDINARY)
def test_an_ordinary_function_is_read_without_inspect(
    function: Callable[..., Any], parameters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "inspect", None)
    assert len(shape.parameters_of(function)) == parameters
    shape.is_generator(function)
    shape.is_coroutine(function)
    shape.is_async_generator(function)


def test_an_attribute_of_an_ordinary_object_is_found_without_inspect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "inspect", None)
    answers = Answers()
    assert shape.attribute_of(answers, "mark") is None
    answers.mark = 5  # type: ignore[attr-defined]
    assert shape.attribute_of(answers, "mark") == 5


def test_a_builtin_that_says_nothing_raises() -> None:
    with pytest.raises(ValueError, match="signature"):
        shape.parameters_of(min)


class Marked:
    mark = 1


class Answers:
    """Has an answer for every name."""

    def __getattr__(self, name: str) -> str:
        return name


class Slotted:
    __slots__ = ("mark",)


@pytest.mark.parametrize(
    "item", [Marked(), Answers(), Slotted(), 7, nothing, [], len, int]
)
def test_attributes_are_those_that_inspect_finds(item: object) -> None:
    expected = inspect.getattr_static(item, "mark", None)
    assert shape.attribute_of(item, "mark") is expected


def test_an_attribute_of_the_object_itself_is_found() -> None:
    answers = Answers()
    answers.mark = 5  # type: ignore[attr-defined]
    assert shape.attribute_of(answers, "mark") == 5
