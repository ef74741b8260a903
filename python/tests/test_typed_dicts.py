"""Typed dicts and aliases that are within themselves or each other."""

from __future__ import annotations

import json
from typing import Any, TypedDict

import jsonschema
import pytest
from support.type_aliases import type_aliases

from snakepit_bridge.tools.annotations.check import Mismatch
from snakepit_bridge.tools.annotations.compile import Unsupported, compile_annotation
from snakepit_bridge.tools.annotations.json_schema import json_schema
from snakepit_bridge.tools.annotations.typed_dict import TypedDictCheck
from snakepit_bridge.tools.signature import Signature
from snakepit_bridge.values.no_image import path_text


class A(TypedDict, total=False):
    number: int
    a: A
    b: B
    c: C
    d: D


class B(TypedDict, total=False):
    a: A
    b: B
    c: C
    d: D


class C(TypedDict, total=False):
    number: int
    a: A
    b: B
    d: D


class D(TypedDict, total=False):
    a: A


class Left(TypedDict):
    part: Left | Right | None


class Right(TypedDict):
    part: Left | Right | None


ALIASES = type_aliases(
    Json="dict[str, Json] | list[Json] | str | int | None",
    Tree="tuple[T, list[Tree[T]]]",
    Deeper="T | list[Deeper[list[T]]]",
    Itself="Union[int, Itself]",
    Pair="tuple[T, T]",
)
Json, Tree, Pair = ALIASES["Json"], ALIASES["Tree"], ALIASES["Pair"]


def refusal(annotation: Any, value: Any) -> str:
    with pytest.raises(Mismatch) as raised:
        compile_annotation(annotation).check(value, None)
    return f"{path_text(raised.value.path)}: {raised.value}"


def nested(levels: int, innermost: Any) -> Any:
    value = innermost
    for _ in range(levels):
        value = {"part": value}
    return value


def test_one_within_itself_is_looked_at_all_the_way_down() -> None:
    check = compile_annotation(A)
    value = {"number": 1, "a": {"number": 3}, "b": {"c": {"b": {"a": {}}}}}
    assert check.check(value, None) is value
    deep = {"b": {"c": {"b": {"a": {"number": "2"}}}}}
    assert refusal(A, deep) == "$.b.c.b.a.number: expected int, got str"
    assert refusal(A, {"a": {"a": []}}) == "$.a.a: expected A, got list"


def test_one_that_is_reached_in_several_ways_is_made_once() -> None:
    check = compile_annotation(A)
    assert isinstance(check, TypedDictCheck)
    within = check.items["b"]
    assert isinstance(within, TypedDictCheck)
    assert within.items["b"] is within
    assert within.items["a"] is check


def test_a_hundred_levels_are_no_work_for_a_union_of_what_looks_alike() -> None:
    check = compile_annotation(Left)
    value = nested(100, None)
    assert check.check(value, None) is value
    # Each level could be either: one after the other, these would be 2 ** 100 ways.
    where = "$" + ".part" * 100
    assert refusal(Left, nested(100, 1)) == (
        f"{where}: expected Left | Right | None, got int"
    )


def test_an_alias_within_itself_is_looked_at_all_the_way_down() -> None:
    check = compile_annotation(Json)
    value = {"a": [{"b": [1, "c", None]}]}
    assert check.check(value, None) is value
    assert refusal(Json, {"a": [{"b": [1.5]}]}).startswith("$.a[0].b[0]: expected ")


def test_a_generic_alias_is_looked_at_with_its_parameters() -> None:
    assert refusal(Tree[int], (1, [(2, [("3", [])])])) == (
        "$[1][0][1][0][0]: expected int, got str"
    )
    assert refusal(Pair[Pair[int]], ((1, 2), (3, "4"))) == (
        "$[1][1]: expected int, got str"
    )


def test_one_that_is_deeper_each_time_has_an_end() -> None:
    check = compile_annotation(ALIASES["Deeper"][int])
    assert check.check([[1]], None) == [[1]]
    json.dumps(json_schema(check))


def test_an_alias_that_is_nothing_but_itself_is_refused() -> None:
    with pytest.raises(Unsupported, match="Itself"):
        compile_annotation(ALIASES["Itself"])


def test_a_schema_has_each_of_them_once_and_agrees() -> None:
    def tool(a: A, b: B, left: Left, json: Any = None) -> A:
        return a

    tool.__annotations__["json"] = Json

    schema = Signature(tool).schema()
    assert sorted(schema["$defs"]) == ["A", "B", "C", "D", "Json", "Left", "Right"]
    assert schema["properties"]["a"] == {"$ref": "#/$defs/A"}
    validator = jsonschema.Draft202012Validator(schema)
    fine = {"a": {}, "b": {"c": {"number": 1}}, "left": nested(3, None)}
    assert validator.is_valid(fine)
    assert not validator.is_valid({**fine, "b": {"c": {"b": {"number": 1}}}})
    assert not validator.is_valid({**fine, "left": nested(3, 1)})
    assert not validator.is_valid({**fine, "json": {"a": [{"b": [1.5]}]}})


def test_two_of_one_name_have_a_definition_each() -> None:
    def others() -> Any:
        class A(TypedDict):
            other: int

        return A

    schema = json_schema(compile_annotation(tuple.__class_getitem__((A, others()))))
    first, second = schema["prefixItems"]
    assert (first, second) == ({"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A2"})
    assert list(schema["$defs"]["A2"]["properties"]) == ["other"]
