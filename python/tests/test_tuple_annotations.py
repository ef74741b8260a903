"""Tuples with a part of any length: `tuple[int, *tuple[str, ...]]`."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any, Generic

import jsonschema
import pytest
from support.signatures import taking
from typing_extensions import TypeVarTuple, Unpack

from snakepit_bridge.tools.annotations.check import Unsupported, json_schema
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.signature import Signature, SignatureInvalid
from snakepit_bridge.typescript.type_writer import TypeWriter

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
