"""Typed dicts and aliases that are within themselves or each other."""

from __future__ import annotations

import dataclasses
import gc
import json
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Generic, TypedDict

import jsonschema
import pytest
from support.signatures import taking
from support.type_aliases import type_aliases
from typing_extensions import TypeVarTuple, Unpack

from snakepit_bridge.tools.annotations.check import (
    Mismatch,
    ObjectCheck,
    Unsupported,
    json_schema,
)
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.signature import Signature, SignatureInvalid
from snakepit_bridge.typescript.type_writer import TypeWriter
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


# ------------ Tuples with a part of any length: `tuple[int, *tuple[str, ...]]`

Ts = TypeVarTuple("Ts")


@dataclasses.dataclass
class Row(Generic[Unpack[Ts]]):
    head: int
    items: tuple[Unpack[Ts]]


REST = tuple[int, Unpack[tuple[str, ...]], bool]
CASES: list[tuple[Any, list[Any], list[tuple[Any, str]], str]] = [
    (
        REST,
        [(1, True), (1, "a", True), [1, "a", "b", True]],
        [
            ((1,), "$.x: expected tuple[int, *tuple[str, ...], bool], got tuple of 1"),
            ((1, 2, True), "$.x[1]: expected str, got int"),
            ((1, "a", "b"), "$.x[2]: expected bool, got str"),
            ({}, "$.x: expected tuple[int, *tuple[str, ...], bool], got dict"),
        ],
        "readonly [number | bigint, ...Array<string>, boolean]",
    ),
    (
        tuple[int, Unpack[tuple[str, ...]]],
        [(1,), (1, "a", "b")],
        [((), "got tuple of 0"), ((1, 2), "$.x[1]: expected str, got int")],
        "readonly [number | bigint, ...Array<string>]",
    ),
    (
        tuple[Unpack[tuple[float, ...]], str],
        [("a",), (1, 2.5, "a")],
        [(("a", 1), "$.x[0]: expected float, got str")],
        "readonly [...Array<number | bigint | Float>, string]",
    ),
    (
        tuple[int, Unpack[tuple[str, bool]]],
        [(1, "a", True)],
        [((1, "a"), "got tuple of 2")],
        "readonly [number | bigint, string, boolean]",
    ),
    (tuple[Unpack[tuple[str, ...]]], [(), ("a",)], [((1,), "$.x[0]")], "readonly string[]"),
    (tuple[Unpack[tuple[()]]], [()], [((1,), "got tuple of 1")], "readonly []"),
    (tuple[int, Unpack[Ts]], [(1,), (1, "a", None)], [(("a",), "$.x[0]")], "readonly [number | bigint, ...Array<unknown>]"),  # type: ignore[valid-type]
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "passes", "fails", "written"), CASES)
def test_a_part_of_any_length_is_checked(
    annotation: Any, passes: list[Any], fails: list[tuple[Any, str]], written: str
) -> None:
    signature = taking(annotation)
    validator = jsonschema.Draft202012Validator(
        json_schema(compile_annotation(annotation))
    )
    for value in passes:
        _, keywords = bind(signature, {"x": value})
        assert keywords["x"] == tuple(value)
        assert type(keywords["x"]) is tuple
        assert validator.is_valid(json.loads(json.dumps(value)))
    for value, problem in fails:
        with pytest.raises(ArgumentsInvalid) as caught:
            bind(signature, {"x": value})
        assert problem in str(caught.value)
    assert TypeWriter(sent=True).written(compile_annotation(annotation)) == written


def test_what_stands_for_several_types_is_not_taken_for_one() -> None:
    signature = taking(Row[str, bool])
    for items in [("a", True), ()]:
        _, keywords = bind(signature, {"x": {"head": 1, "items": items}})
        assert keywords["x"] == Row(1, items)
    with pytest.raises(ArgumentsInvalid, match=r"\$\.x\.head: expected int"):
        bind(signature, {"x": {"head": "a", "items": ()}})


def test_a_tuple_of_two_parts_of_any_length_is_refused() -> None:
    both: Any = (Unpack[tuple[int, ...]], Unpack[tuple[str, ...]])
    with pytest.raises(Unsupported, match="at most one part of any length"):
        compile_annotation(tuple.__class_getitem__(both))


def test_further_arguments_are_of_the_type_of_the_part() -> None:
    def function(*args: Unpack[tuple[int, ...]]) -> None: ...

    function.__annotations__["args"] = Unpack[tuple[int, ...]]
    signature = Signature(function)
    assert bind(signature, [1, 2]) == ([1, 2], {})
    with pytest.raises(ArgumentsInvalid, match=r"\$\[1\]: expected int, got str"):
        bind(signature, [1, "a"])
    function.__annotations__["args"] = Unpack[Ts]
    assert bind(Signature(function), [1, "a"]) == ([1, "a"], {})
    function.__annotations__["args"] = Unpack[tuple[int, str]]
    with pytest.raises(SignatureInvalid, match=r"parameter 'args'.*of their own"):
        Signature(function)
    assert bind(Signature(function, foreign=True), [1, 2]) == ([1, 2], {})


@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs the syntax")
@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_the_star_means_the_same(future: str) -> None:
    names: dict[str, Any] = {}
    source = (
        "def f(a: tuple[int, *tuple[str, ...]], *args: *tuple[bool, ...]) -> None: ..."
    )
    exec(future + source, names)  # noqa: S102 - older Pythons cannot read it
    signature = Signature(names["f"])
    assert bind(signature, [(1, "a"), True]) == ([(1, "a"), True], {})
    with pytest.raises(ArgumentsInvalid, match=r"\$\.a\[1\]: expected str, got int"):
        bind(signature, [(1, 2)])
    with pytest.raises(ArgumentsInvalid, match=r"\$\[1\]: expected bool, got int"):
        bind(signature, [(1, "a"), 1])
