"""Typed dicts and aliases that are within themselves or each other."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypedDict

import jsonschema
import pytest
from support.type_aliases import type_aliases

from snakepit_bridge.tools.annotations.check import (
    Mismatch,
    ObjectCheck,
    Unsupported,
    json_schema,
)
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.binding import bind
from snakepit_bridge.tools.signature import Signature
from snakepit_bridge.values.value_not_transferable import path_text


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
    Two="list[Pair[T]]",
    Either="Union[list[Union[Other, None]], str]",
    Other="dict[str, Union[Either, None]]",
    Buffers="Union[list[Buffers], bytearray]",
)
Json, Tree, Pair = ALIASES["Json"], ALIASES["Tree"], ALIASES["Pair"]


@contextmanager
def gc_disabled() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


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
    assert isinstance(check, ObjectCheck)
    within = check.items["b"]
    assert isinstance(within, ObjectCheck)
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


def test_one_that_is_deeper_each_time_is_refused() -> None:
    with pytest.raises(Unsupported, match="Deeper"):
        compile_annotation(ALIASES["Deeper"][int])


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


def test_a_name_of_any_letters_is_one_in_a_reference() -> None:
    class Odd(TypedDict):
        x: int

    Odd.__name__ = "a/b c"
    schema = json_schema(compile_annotation(Odd))
    assert schema["$ref"] == "#/$defs/a_b_c"
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid({"x": 1})
    assert not validator.is_valid({"x": "1"})


def test_what_cannot_be_hashed_is_told_apart() -> None:
    two = ALIASES["Two"]
    of = (int, str, bytes, float)
    kinds: list[Any] = [Annotated[kind, []] for kind in of]
    check = compile_annotation(tuple.__class_getitem__(tuple(two[k] for k in kinds)))
    value = ([(1, 2)], [("a", "b")], [(b"a", b"b")], [(1.5, 2.5)])
    assert check.check(value, None) == value
    with pytest.raises(Mismatch, match="expected str, got int"):
        check.check((*value[:1], [(1, 2)], *value[2:]), None)


def test_arguments_nested_as_deep_as_they_can_cross_are_checked() -> None:
    def tool(value: Any) -> None: ...

    tool.__annotations__["value"] = ALIASES["Either"]
    deep: Any = "x"
    for level in range(98):
        deep = {"a": deep} if level % 2 == 0 else [deep]
    assert bind(Signature(tool), {"value": deep}) == ([], {"value": deep})


def test_a_union_keeps_nothing_of_a_value_when_it_has_looked() -> None:
    class Held(list[int]):
        """Can be referred to weakly."""

    check = compile_annotation(str | dict[str, Any] | list[float])
    with gc_disabled():
        held = Held()
        reference = weakref.ref(held)
        check.check({"a": held}, None)
        with pytest.raises(Mismatch):
            check.check([held], None)
        del held
        assert reference() is None


def test_equal_values_in_two_places_stay_two() -> None:
    check = compile_annotation(list[list[int] | tuple[int, ...] | bytearray | None])
    first, second = check.check([b"", b""], None)
    assert first is not second
    first, second = check.check([[], []], None)
    assert first is not second
    # Python has one object for all of these.
    first, second = compile_annotation(ALIASES["Buffers"]).check([b"", b""], None)
    assert first is not second


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (set[float], {2**53, 2**53 + 1}),
        (dict[float, str], {2**53: "a", 2**53 + 1: "b"}),
    ],
)
def test_what_would_become_equal_is_refused(annotation: Any, value: Any) -> None:
    assert "would become equal" in refusal(annotation, value)
