"""Types of the standard library that are sent as others: what crosses, both ways."""

from __future__ import annotations

import ipaddress
import json
from collections import deque
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Annotated, Any, Literal
from uuid import UUID

import annotated_types as at
import jsonschema
import numpy
import pytest
from support.case_name import case_name
from support.enums import ID, Access, Colour, Found, Name, Scale, Size
from support.signatures import taking

from snakepit_bridge.tools.annotations.check import json_schema
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.binding import bind
from snakepit_bridge.typescript.type_writer import TypeWriter
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

HOUR = timezone(timedelta(hours=1))

# The annotation, what is sent for a value, the value, and what types are written for
# TypeScript: to send, and to receive.
BOTH_WAYS: list[Any] = [
    (Colour, "red", Colour.RED, '"red" | "green"', '"red" | "green"'),
    (Name, "ann", Name.ANN, '"ann"', '"ann"'),
    (Size, 2, Size.LARGE, "1 | 2", "1 | 2"),
    (Scale, 0.5, Scale.HALF, "0.5 | 1.0", "0.5 | 1.0"),
    (Access, 3, Access.READ | Access.WRITE, "number", "number"),
    (Literal[Colour.RED, 7], "red", Colour.RED, '"red" | 7', '"red" | 7'),
    (Decimal, "12.50", Decimal("12.50"), "string | number | bigint", "string"),
    (Decimal, "NaN", Decimal("NaN"), "string | number | bigint", "string"),
    (UUID, str(ID), ID, "string", "string"),
    (Path, "a/b", Path("a/b"), "string", "string"),
    (PurePosixPath, "a/b", PurePosixPath("a/b"), "string", "string"),
    (PureWindowsPath, "a\\b", PureWindowsPath("a\\b"), "string", "string"),
    (timedelta, "P1DT0.5S", timedelta(days=1, seconds=0.5), "string", "string"),
    (timedelta, "-PT1M", timedelta(minutes=-1), "string", "string"),
    (timedelta, "PT0S", timedelta(), "string", "string"),
    (
        timedelta,
        "P999999999DT23H59M59.999999S",
        timedelta.max,
        "string",
        "string",
    ),
    (timedelta, "-P999999999D", timedelta.min, "string", "string"),
    (time, "12:30:00.000001", time(12, 30, 0, 1), "string", "string"),
    (time, "12:30:00+01:00", time(12, 30, tzinfo=HOUR), "string", "string"),
    (
        complex,
        {"re": 1.5, "im": -2.0},
        1.5 - 2j,
        "{ re: number; im: number } | number",
        "{ re: number; im: number }",
    ),
    (
        range,
        {"start": 1, "stop": 9, "step": 2},
        range(1, 9, 2),
        "{ start?: number; stop: number; step?: number }",
        "{ start: number; stop: number; step: number }",
    ),
    (deque[str], ["a", "b"], deque(["a", "b"]), "readonly string[]", "string[]"),
    (deque, [1], deque([1]), "readonly unknown[]", "unknown[]"),
    (
        ipaddress.IPv6Address,
        "::1",
        ipaddress.IPv6Address("::1"),
        "string",
        "string",
    ),
    (list[Colour], ["red"], [Colour.RED], *['"red" | "green"'] * 2),
    (Colour | None, None, None, *['"red" | "green" | null'] * 2),
    (dict[UUID, Size], {str(ID): 1}, {ID: Size.SMALL}, *["Record<string, 1 | 2>"] * 2),
    (set[Colour], {"red"}, {Colour.RED}, *['"red" | "green"'] * 2),
    (tuple[Path, int], ("a", 1), (Path("a"), 1), "string", "string"),
]


@pytest.mark.parametrize(
    ("annotation", "sent", "value"),
    [row[:3] for row in BOTH_WAYS],
    ids=case_name,
)
def test_a_value_is_sent_as_another_and_its_annotation_makes_it_again(
    annotation: Any, sent: Any, value: Any
) -> None:
    received = decode(encode([value]))[0]
    assert (received, type(received)) == (sent, type(sent))
    _, keywords = bind(taking(annotation), {"x": received})
    assert repr(keywords["x"]) == repr(value)


@pytest.mark.parametrize(
    ("annotation", "takes", "gives"),
    [(row[0], *row[3:]) for row in BOTH_WAYS],
    ids=case_name,
)
def test_typescript_has_the_types_that_cross(
    annotation: Any, takes: str, gives: str
) -> None:
    check = compile_annotation(annotation)
    assert takes in TypeWriter(sent=True).written(check)
    answered = compile_annotation(annotation, answered=True)
    assert gives in TypeWriter(sent=False).written(answered)


@pytest.mark.parametrize(
    ("annotation", "sent"),
    [row[:2] for row in BOTH_WAYS if not isinstance(row[1], set)],
    ids=case_name,
)
def test_the_schema_takes_what_crosses(annotation: Any, sent: Any) -> None:
    schema = json_schema(compile_annotation(annotation))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(json.dumps(sent)), schema)


@pytest.mark.parametrize(
    ("annotation", "sent", "value"),
    [
        (Decimal, 12, Decimal(12)),
        (Decimal, 2**70, Decimal(2**70)),
        (Decimal, 9.99, Decimal("9.99")),
        (Scale, 1, Scale.WHOLE),
        (Found, "YES", Found.YES),
        (UUID, ID.hex, ID),
        (time, "12:30", time(12, 30)),
        (time, "12:30:00.5Z", time(12, 30, 0, 500_000, timezone.utc)),
        (timedelta, "P1W", timedelta(weeks=1)),
        (date, "2024-02-29", date(2024, 2, 29)),
        (datetime, "2024-02-29T12:30", datetime(2024, 2, 29, 12, 30)),
        (
            datetime,
            "2024-02-29T12:30:00.000001+02:00",
            datetime(2024, 2, 29, 10, 30, 0, 1, timezone.utc),
        ),
        (date | datetime, "2024-02-29T12:30:00", datetime(2024, 2, 29, 12, 30)),
        (str | date, "2024-02-29", "2024-02-29"),
        (timedelta, "+PT90M", timedelta(hours=1.5)),
        (complex, 2, 2 + 0j),
        (range, {"stop": 3}, range(3)),
        (str | UUID, str(ID), str(ID)),
        (Annotated[Decimal, at.Gt(0)], "0.1", Decimal("0.1")),
        (Annotated[timedelta, at.Le(timedelta(hours=1))], "PT1H", timedelta(hours=1)),
    ],
    ids=case_name,
)
def test_a_type_takes_other_writings_of_a_value(
    annotation: Any, sent: Any, value: Any
) -> None:
    _, keywords = bind(taking(annotation), {"x": decode(encode(sent))})
    assert (keywords["x"], type(keywords["x"])) == (value, type(value))


@pytest.mark.parametrize(
    ("value", "arrives"),
    [
        ({Colour.RED: 1}, {"red": 1}),
        ({Size.SMALL: "a"}, {1: "a"}),
        ({ID: 1, Path("a"): 2, "b": 3}, {str(ID): 1, "a": 2, "b": 3}),
        ({Access.READ, Access.WRITE}, {1, 2}),
        (numpy.complex64(1 + 2j), {"re": 1.0, "im": 2.0}),
        (numpy.complex128(1 + 2j), {"re": 1.0, "im": 2.0}),
        (deque([Colour.RED, (Size.LARGE,)]), ["red", (2,)]),
    ],
    ids=case_name,
)
def test_a_value_inside_others_is_sent_as_alone(value: Any, arrives: Any) -> None:
    assert decode(encode({"v": value})) == {"v": arrives}


def test_a_path_is_one_of_the_kind_that_is_asked_for() -> None:
    _, keywords = bind(taking(PurePath), {"x": "a"})
    assert keywords["x"] == PurePath("a")
