"""Metadata of `Annotated`: what is checked, what is described, what is refused at load."""

from __future__ import annotations

import math
import types
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Annotated, Any, Literal, TypedDict, TypeVar

import annotated_types as at
import jsonschema
import msgspec
import numpy
import numpy.typing
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
from snakepit_bridge.tools.toolbox import Toolbox, ToolsInvalid
from snakepit_bridge.typescript.tools_module import tools_module

UTC = timezone.utc
Text = TypeVar("Text", bound=str)


def is_even(number: int) -> bool:
    return number % 2 == 0


def is_known(number: int) -> bool:
    return {2: True}[number]


class Order(TypedDict):
    """What is bought."""

    article: Annotated[str, at.MinLen(1)]
    count: Annotated[int, pydantic.Field(gt=0, description="pieces")]


def bound(annotation: Any, value: Any) -> Any:
    return bind(taking(annotation), {"x": value})[1]["x"]


class Size:
    """A constraint of nobody's library, with the names that all of them use."""

    def __init__(self, ge: int, le: int) -> None:
        self.ge = ge
        self.le = le


# The annotation, a value that passes, one that does not, and what the error says of it.
CHECKED: list[tuple[Any, Any, Any, str]] = [
    (Annotated[int, at.Gt(0)], 1, 0, "$.x: expected int (> 0), got 0"),
    (Annotated[int, at.Ge(0)], 0, -1, "expected int (>= 0), got -1"),
    (Annotated[int, at.Lt(3)], 2, 3, "expected int (< 3), got 3"),
    (Annotated[int, at.Le(3)], 3, 4, "expected int (<= 3), got 4"),
    (Annotated[float, at.Gt(0)], 1, math.nan, "expected float (> 0), got nan"),
    (Annotated[int, at.Interval(ge=1, lt=5)], 4, 5, "int (>= 1, < 5), got 5"),
    (Annotated[int, at.MultipleOf(3)], -6, 7, "int (multiple of 3), got 7"),
    (Annotated[float, at.MultipleOf(0.1)], 0.3, 0.35, "(multiple of 0.1), got 0.35"),
    (Annotated[str, at.Len(1, 2)], "äb", "äbc", "got str of length 3"),
    (Annotated[bytes, at.MinLen(2)], b"ab", b"a", "got bytes of length 1"),
    (Annotated[list[int], at.MaxLen(1)], [1], [1, 2], "got list of length 2"),
    (Annotated[Sequence[int], at.MaxLen(1)], (1,), (1, 2), "got tuple of length 2"),
    (Annotated[dict[str, int], at.MinLen(1)], {"a": 1}, {}, "got dict of length 0"),
    (Annotated[set[int], at.MinLen(1)], {1}, set(), "got set of length 0"),
    (Annotated[int, at.Predicate(is_even)], 2, 3, "int (where is_even), got 3"),
    (Annotated[int, at.Predicate(at.Not(is_even))], 3, 2, "(where not is_even), got 2"),
    (at.LowerCase[str], "a", "A", "str (where str.islower), got str of length 1"),
    (
        Annotated[int, at.Predicate(is_known)],
        2,
        1,
        "got 1, for which where is_known fails: KeyError: 1",
    ),
    (
        Annotated[datetime, at.Timezone(...)],
        datetime(2024, 1, 1, tzinfo=UTC),
        datetime(2024, 1, 1),
        "datetime (with a zone), got 2024-01-01T00:00:00",
    ),
    (
        Annotated[datetime, at.Timezone("UTC")],
        datetime(2024, 1, 1, tzinfo=UTC),
        datetime(2024, 1, 1),
        "(with a zone)",
    ),
    (
        Annotated[datetime, at.Timezone(None)],
        datetime(2024, 1, 1),
        datetime(2024, 1, 1, tzinfo=UTC),
        "(without a zone), got 2024-01-01T00:00:00+00:00",
    ),
    (
        Annotated[datetime, at.Gt(datetime(2024, 1, 1, tzinfo=UTC))],
        datetime(2024, 1, 2, tzinfo=UTC),
        datetime(2024, 1, 2),
        "fails: TypeError",
    ),
    (
        Annotated[date, at.Ge(date(2024, 1, 1))],
        date(2024, 1, 1),
        date(2023, 12, 31),
        "got 2023-12-31",
    ),
    (Annotated[int, pydantic.Field(gt=0)], 1, 0, "int (> 0), got 0"),
    (Annotated[str, pydantic.Field(pattern="^a+$")], "aa", "ab", "matching '^a+$'"),
    (Annotated[float, pydantic.Field(allow_inf_nan=False)], 1.0, math.inf, "(finite)"),
    (pydantic.FiniteFloat, 1.0, math.nan, "float (finite), got nan"),
    (pydantic.PositiveInt, 1, 0, "int (> 0), got 0"),
    (pydantic.conint(ge=1, strict=True), 1, 0, "int (>= 1), got 0"),
    (pydantic.constr(min_length=2), "ab", "a", "str (length >= 2)"),
    (pydantic.conlist(int, max_length=1), [1], [1, 2], "(length <= 1)"),
    (Annotated[int, msgspec.Meta(ge=1, description="pieces")], 1, 0, "int (>= 1)"),
    (Annotated[str, msgspec.Meta(pattern="b", max_length=2)], "ab", "ac", "matching"),
    (
        Annotated[datetime, msgspec.Meta(tz=False)],
        datetime(2024, 1, 1),
        datetime(2024, 1, 1, tzinfo=UTC),
        "(without a zone)",
    ),
    (Annotated[int, Size(1, 3)], 3, 4, "int (>= 1, <= 3), got 4"),
    (Annotated[Any, at.Gt(0)], 1, 0, "Any (> 0), got 0"),
    (Annotated[Any, at.Gt(0)], 1, "a", "got str of length 1, for which > 0"),
    (Annotated[Literal[1, 2, 3], at.Lt(3)], 2, 3, "got 3"),
    (Annotated[int | None, at.Gt(0)], None, 0, "int (> 0) | None, got 0"),
    (Annotated[int, at.Gt(0)] | None, None, 0, "int (> 0) | None, got 0"),
    (Annotated[int | float, at.Gt(0)], 1.5, -1.5, "got -1.5"),
    (list[Annotated[int, at.Gt(0)]], [1], [1, 0], "$.x[1]: expected int (> 0), got 0"),
    (
        dict[Annotated[str, at.MinLen(1)], int],
        {"a": 1},
        {"": 1},
        "$.x<key 0>: expected str (length >= 1), got str of length 0",
    ),
    (
        Order,
        {"article": "pen", "count": 1},
        {"article": "pen", "count": 0},
        "$.x.count: expected int (> 0), got 0",
    ),
    (Annotated[Order, at.MaxLen(2)], {"article": "a", "count": 1}, {}, "$.x.article"),
    (Annotated[int, at.Lt(0)], -1, 2**200, "got an int of 201 bits"),
]


@pytest.mark.parametrize(
    ("annotation", "value", "other", "says"),
    CHECKED,
    ids=case_name,
)
def test_a_constraint_is_checked(
    annotation: Any, value: Any, other: Any, says: str
) -> None:
    assert bound(annotation, value) == value
    with pytest.raises(ArgumentsInvalid) as caught:
        bound(annotation, other)
    assert says in str(caught.value)


def test_an_error_does_not_have_the_text_which_may_be_secret() -> None:
    with pytest.raises(ArgumentsInvalid) as caught:
        bound(Annotated[str, at.MinLen(12)], "hunter2")
    assert "hunter2" not in str(caught.value)


def test_the_value_that_is_checked_is_the_one_that_the_tool_gets() -> None:
    got = bound(Annotated[float, at.Gt(0)], 1)
    assert (got, type(got)) == (1.0, float)
    array = numpy.zeros(3)
    assert bound(Annotated[numpy.typing.NDArray[Any], at.Len(3, 3)], array) is array


def test_items_of_an_input_stream_are_checked() -> None:
    @tool(input=Annotated[int, at.Gt(0)])
    def total() -> int:
        return 0

    check = toolbox_of(total).tools["total"].input
    assert check is not None
    assert check.expected == "int (> 0)"


class Described:
    """Says nothing that constrains, whatever it answers to."""

    description = "a count"

    def __getattr__(self, name: str) -> Any:
        return 7


@pytest.mark.parametrize(
    "metadata",
    [
        *("a count", 3, None, {"ge": 1}, ["a"], int, is_even, Described(), Described),
        *(at.doc("pieces"), at.Unit("m") if hasattr(at, "Unit") else None),
        pydantic.Field(description="a count", title="Count", examples=[3]),
        msgspec.Meta(title="Count", extra={"unit": "m"}),
        pydantic.Strict(),
        pydantic.WithJsonSchema({"type": "integer"}),
    ],
    ids=case_name,
)
def test_metadata_that_describes_is_ignored(metadata: Any) -> None:
    assert taking(Annotated[int, metadata]).named["x"].expected == "int"
    assert bound(Annotated[int, metadata], -1) == -1


class OwnConstraint(at.BaseMetadata):
    """A constraint by its base, of unknown meaning."""


class Checker:
    def validate(self, value: int) -> None: ...


class Limits:
    def __init__(self) -> None:
        self.max = 3


@pytest.mark.parametrize(
    ("annotation", "says"),
    [
        (Annotated[int, OwnConstraint()], "OwnConstraint"),
        (Annotated[int, Checker()], "its validate is not called"),
        (Annotated[int, Limits()], "max is not supported"),
        (Annotated[int, at.Gt], "use an instance of it"),
        (Annotated[int, at.MinLen(1)], '"length >= 1" does not apply to int'),
        (Annotated[str, at.Gt(0)], '"> 0" does not apply to str'),
        (Annotated[list[int], at.Gt(0)], "does not apply to list[int]"),
        (Annotated[numpy.typing.NDArray[Any], at.Gt(0)], "does not apply to ndarray"),
        (Annotated[int, at.Timezone(...)], '"with a zone" does not apply to int'),
        (
            Annotated[datetime, at.Timezone("Europe/Berlin")],
            "a datetime with a zone arrives in UTC",
        ),
        (
            Annotated[datetime, at.Timezone(timezone(timedelta(hours=9)))],
            "a datetime with a zone arrives in UTC",
        ),
        (
            Annotated[str, pydantic.Field(pattern="(")],
            "not a Python regular expression",
        ),
        (Annotated[int | str, at.Gt(0)], "does not apply to str"),
        (list[Annotated[int, OwnConstraint()]], "OwnConstraint"),
    ],
    ids=case_name,
)
def test_what_cannot_be_checked_is_refused_when_the_tool_is_loaded(
    annotation: Any, says: str
) -> None:
    @tool
    def order(count: Any) -> None: ...

    order.__annotations__["count"] = annotation
    with pytest.raises(ToolsInvalid) as caught:
        toolbox_of(order)
    message = str(caught.value)
    assert says in message
    assert "order: parameter 'count'" in message
    assert "use annotated_types (Gt, Ge," in message


def toolbox_of(*tools: Any) -> Toolbox:
    module = types.ModuleType("orders")
    for item in tools:
        setattr(module, item.__name__, item)
    return Toolbox(module)


# -------- Constraints as descriptions: in JSON schemas and in the types for TypeScript


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
