"""Defaults that stand for others: `n: int = Field(default=3, gt=0)`."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated, Any

import attr
import msgspec
import pytest
from pydantic import Field
from pydantic.fields import FieldInfo

from snakepit_bridge.testing import call_tool
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.declaration import NO_INPUT, ToolMark, tool
from snakepit_bridge.tools.signature import Signature, SignatureInvalid
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.typescript.tools_module import tools_module


class Query(FieldInfo):  # type: ignore[misc]
    """Like FastAPI's."""


A_QUERY: Any = Query(default="a", pattern="^a")


@tool
def constrained(
    n: int = Field(default=3, gt=0),
    words: list[str] = Field(default_factory=list, max_length=2),  # noqa: B008
    *,
    text: Annotated[str, Field(min_length=1)] = A_QUERY,
    rest: list[int] = Field(default=[]),  # noqa: B008
) -> list[Any]:
    words.append("w")
    rest.append(1)
    return [n, words, text, rest]


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        (None, [3, ["w"], "a", [1]]),
        ([], [3, ["w"], "a", [1]]),
        ({"n": 2}, [2, ["w"], "a", [1]]),
        ([2], [2, ["w"], "a", [1]]),
        ([2, ["b"]], [2, ["b", "w"], "a", [1]]),
        ({"text": "ab", "words": ["c"]}, [3, ["c", "w"], "ab", [1]]),
        ({"n": 1, "words": [], "text": "a", "rest": [5]}, [1, ["w"], "a", [5, 1]]),
    ],
)
def test_what_is_left_out_is_the_default_and_never_what_stands_for_it(
    given: Any, answer: Any
) -> None:
    for _ in range(2):
        assert call_tool(constrained, given) == answer


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"n": 0}, r"\$\.n: expected int \(> 0\), got 0"),
        ([0], r"\$\.n: expected int \(> 0\), got 0"),
        (
            {"words": ["a", "b", "c"]},
            r"\$\.words: expected list\[str\] \(length <= 2\)",
        ),
        ({"text": ""}, r"\$\.text: expected str \(length >= 1, matching '\^a'\)"),
        ({"text": "b"}, r"\$\.text: expected str"),
        ({"rest": ["a"]}, r"\$\.rest\[0\]: expected int"),
    ],
)
def test_its_constraints_are_checked(given: Any, problem: str) -> None:
    with pytest.raises(ArgumentsInvalid, match=problem):
        call_tool(constrained, given)


def test_it_is_described_by_its_default() -> None:
    described = Tool("f", constrained, ToolMark(None, NO_INPUT))
    schema = json.loads(json.dumps(described.signature.schema()))
    assert schema["required"] == []
    assert schema["properties"]["n"] == {
        "type": "integer",
        "exclusiveMinimum": 0,
        "default": 3,
    }
    text = tools_module([described], "make")
    assert "n?: number | bigint | undefined" in text


def required_later(a: int = 1, b: int = Field(gt=0), c: int = 2) -> list[int]:
    return [a, b, c]


def test_a_field_without_a_default_is_required() -> None:
    signature = Signature(required_later)
    assert signature.required == ["b"]
    assert bind(signature, [1, 2]) == ([1, 2], {})
    assert bind(signature, {"b": 2}) == ([], {"b": 2})
    for given in (None, [], [1], {"a": 1}):
        with pytest.raises(ArgumentsInvalid, match=r"\$\.b: missing argument"):
            bind(signature, given)
    described = Tool("f", required_later, ToolMark(None, NO_INPUT))
    text = "".join(tools_module([described], "make").split())
    assert "readonly[a:number|bigint,b:number|bigint,c?:number|bigint]" in text


def placed(
    a: int = Field(default=1), b: int = Field(default=2), /, c: int = 3
) -> None: ...


def test_one_that_has_no_name_is_filled_by_its_place() -> None:
    signature = Signature(placed)
    assert bind(signature, None) == ([1, 2], {})
    assert bind(signature, [5]) == ([5, 2], {})
    assert bind(signature, {"a": 5, "c": 6}) == ([5, 2], {"c": 6})
    assert bind(signature, [5, 6, 7]) == ([5, 6, 7], {})


def test_a_factory_may_take_the_other_values() -> None:
    def function(a: int = Field(default_factory=lambda data: len(data))) -> None: ...

    assert bind(Signature(function), None) == ([], {"a": 0})


MARKERS = [
    (dataclasses.field(default=1), "dataclasses"),
    (msgspec.field(default=1), "msgspec"),
    (attr.ib(default=1), "attr"),
]


@pytest.mark.parametrize(("default", "library"), MARKERS)
def test_what_only_another_library_knows_is_refused(default: Any, library: str) -> None:
    def function(a: int = 0) -> None: ...

    function.__defaults__ = (default,)
    with pytest.raises(
        SignatureInvalid, match=f"parameter 'a': .*only {library} replaces"
    ):
        Signature(function)
    # A function that was not written as a tool can be called, with a value.
    signature = Signature(function, foreign=True)
    assert bind(signature, [1]) == ([1], {})
    with pytest.raises(ArgumentsInvalid, match="missing argument"):
        bind(signature, None)


@pytest.mark.parametrize("default", [object(), ..., Field, 1j, print])
def test_another_default_stays_python_s_own(default: Any) -> None:
    def function(a: Any = 0) -> None: ...

    function.__defaults__ = (default,)
    assert bind(Signature(function), None) == ([], {})
