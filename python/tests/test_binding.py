"""Which arguments fit the signature of a tool, by name and by place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.signature import Signature


def plain(a: int, b: str = "b") -> None: ...


def mixed(a: int, /, b: int, *, c: int = 3) -> None: ...


def greedy(a: int, *rest: float, **others: str) -> None: ...


def by_place(a: int = 1, b: int = 2, /, c: int = 3) -> None: ...


@pytest.mark.parametrize(
    ("function", "given", "positional", "keywords"),
    [
        (plain, {"a": 1}, [], {"a": 1}),
        (plain, [1, "x"], [1, "x"], {}),
        (plain, (1,), [1], {}),
        (mixed, {"a": 1, "b": 2, "c": 4}, [1], {"b": 2, "c": 4}),
        (mixed, [1, 2], [1, 2], {}),
        (greedy, [1, 2, 3], [1, 2.0, 3.0], {}),
        (greedy, {"a": 1, "z": "y"}, [], {"a": 1, "z": "y"}),
        (lambda: None, None, [], {}),
    ],
)
def test_arguments_are_a_map_of_names_or_a_list(
    function: Callable[..., Any],
    given: Any,
    positional: list[Any],
    keywords: dict[str, Any],
) -> None:
    assert bind(Signature(function), given) == (positional, keywords)


@pytest.mark.parametrize(
    ("function", "given", "path", "message"),
    [
        (plain, {}, "$.a", "missing argument, expected int"),
        (plain, None, "$.a", "missing argument, expected int"),
        (plain, [], "$.a", "missing argument, expected int"),
        (plain, {"a": "x"}, "$.a", "expected int, got str"),
        (plain, {"a": 1, "c": 2}, "$.c", "unexpected argument (takes a, b)"),
        (plain, {"a": 1, "bb": 2}, "$.bb", "did you mean 'b'?"),
        (plain, [1, "b", 3], "$[2]", "at most 2 positional arguments, got 3"),
        (plain, {1: 2}, "$", "an argument's name is text, not 1"),
        (plain, 5, "$", "arguments are a map of names to values, or a list; got int"),
        (greedy, {"a": 1, "z": 1}, "$.z", "expected str, got int"),
        (greedy, [1, "x"], "$[1]", "expected float, got str"),
        (by_place, {"b": 1}, "$.b", "cannot be given without 'a'"),
        (lambda: None, {"a": 1}, "$.a", "unexpected argument (takes none)"),
    ],
)
def test_a_wrong_set_of_arguments_is_refused_by_name(
    function: Callable[..., Any], given: Any, path: str, message: str
) -> None:
    with pytest.raises(ArgumentsInvalid) as caught:
        bind(Signature(function), given)
    assert caught.value.path == path
    assert str(caught.value).startswith("" if path == "$" else f"{path}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("given", [{}, {"c": 4}])
def test_arguments_by_place_with_a_default_may_be_left_out(given: Any) -> None:
    assert bind(Signature(by_place), given) == ([], given)
