"""Constraints as descriptions: in JSON schemas and in the types for TypeScript."""

from __future__ import annotations

import math
import types
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any, TypedDict

import annotated_types as at
import jsonschema
import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.case_name import case_name
from support.signatures import taking

from snakepit_bridge import tool
from snakepit_bridge.cli.call import from_json, to_json
from snakepit_bridge.tools.annotations.check import json_schema
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.signature import Signature
from snakepit_bridge.tools.toolbox import Toolbox
from snakepit_bridge.typescript.tools_module import tools_module


def is_even(number: int) -> bool:
    return number % 2 == 0


class Order(TypedDict):
    """What is bought."""

    article: Annotated[str, at.MinLen(1)]
    count: Annotated[int, pydantic.Field(gt=0, description="pieces")]


class OwnConstraint(at.BaseMetadata):
    """A constraint by its base, of unknown meaning."""


def test_a_result_is_not_checked_so_its_metadata_only_describes_it() -> None:
    def count() -> Annotated[int, OwnConstraint(), at.MinLen(1), at.Gt(0)]:
        return 1

    assert Signature(count).result.expected == "int (> 0)"


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (Annotated[int, at.Gt(0)], {"type": "integer", "exclusiveMinimum": 0}),
        (
            Annotated[float, at.Interval(ge=0, lt=1.5)],
            {"type": "number", "minimum": 0, "exclusiveMaximum": 1.5},
        ),
        (Annotated[int, at.Le(9)], {"type": "integer", "maximum": 9}),
        (Annotated[int, at.MultipleOf(3)], {"type": "integer", "multipleOf": 3}),
        (
            Annotated[str, at.Len(1, 5), pydantic.Field(pattern="^a")],
            {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^a"},
        ),
        (
            Annotated[list[int], at.MaxLen(2)],
            {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
        ),
        (
            Annotated[dict[str, Any], at.MinLen(1)],
            {"type": "object", "minProperties": 1},
        ),
        (
            Annotated[tuple[int, ...], at.Len(1, 2), at.MaxLen(3)],
            {
                "type": "array",
                "items": {"type": "integer"},
                "minItems": 1,
                "maxItems": 2,
                "allOf": [{"maxItems": 3}],
            },
        ),
        (
            Annotated[int | None, at.Gt(0)],
            {"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "null"}]},
        ),
        (
            Annotated[bytes, at.MaxLen(2)],
            {"type": "string", "contentEncoding": "base64"},
        ),
        (Annotated[float, at.Lt(math.inf)], {"type": "number"}),
        (Annotated[int, at.Predicate(is_even)], {"type": "integer"}),
        (
            Annotated[date, at.Ge(date(2024, 1, 1))],
            {"type": "string", "format": "date"},
        ),
    ],
    ids=case_name,
)
def test_the_json_schema_has_what_it_can_say(
    annotation: Any, schema: dict[str, Any]
) -> None:
    made = json_schema(taking(annotation).named["x"])
    jsonschema.Draft202012Validator.check_schema(made)
    assert made == schema


@given(
    st.sampled_from(
        [
            Annotated[int, at.Interval(gt=-3, le=4)],
            Annotated[int, at.MultipleOf(2), at.Ge(0)],
            Annotated[str, at.Len(1, 3)],
            Annotated[str, msgspec.Meta(pattern="a")],
            Annotated[list[Annotated[int, at.Gt(0)]], at.Len(1, 2)],
            Annotated[int | None, at.Lt(3)],
        ]
    ),
    st.one_of(
        st.none(),
        st.integers(-5, 5),
        st.text("ab", max_size=4),
        st.lists(st.integers(-1, 2), max_size=3),
    ),
)
def test_check_and_schema_take_the_same_values(annotation: Any, value: Any) -> None:
    signature = taking(annotation)
    validator = jsonschema.Draft202012Validator(json_schema(signature.named["x"]))
    text = to_json(value)
    try:
        bind(signature, {"x": from_json(text)})
        passes = True
    except ArgumentsInvalid:
        passes = False
    assert passes is validator.is_valid(value)


def test_types_for_typescript_tell_constraints_in_words() -> None:
    @tool
    def buy(
        order: Order,
        discounts: list[Annotated[float, at.Lt(1)]] | None = None,
        urgent: bool = False,
    ) -> Iterator[Annotated[int, at.Gt(0)]]:
        """Buys."""
        yield 1

    buy.__annotations__.update(
        order=Order, discounts=list[Annotated[float, at.Lt(1)]] | None
    )
    text = tools_module(toolbox_of(buy).tools.values(), "made")
    assert "   * Constraints: `discounts: list[float (< 1)] | None`." in text
    assert " * What is bought.\n *\n * Constraints: " in text
    assert "`article: str (length >= 1)`, `count: int (> 0)`." in text
    assert "count: number | bigint" in text


def toolbox_of(*tools: Any) -> Toolbox:
    module = types.ModuleType("orders")
    for item in tools:
        setattr(module, item.__name__, item)
    return Toolbox(module)
