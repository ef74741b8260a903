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
from support.enums import ID, Access, Colour, Found, Name, Pair, Scale, Size
from support.signatures import taking

from snakepit_bridge import ValueNotTransferable
from snakepit_bridge.tools.annotations.check import Unsupported, json_schema
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.signature import SignatureInvalid
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


# -------- What is no value of a type of the standard library, or would be lost on its way


@pytest.mark.parametrize(
    ("annotation", "sent", "problem"),
    [
        (Colour, "blue", "$.x: expected Colour (one of 'red', 'green'), got 'blue'"),
        (Colour, [], "$.x: expected Colour (one of 'red', 'green'), got list"),
        (Size, True, "$.x: expected Size (one of 1, 2), got True"),
        (Size, "1", "$.x: expected Size (one of 1, 2), got '1'"),
        (Found, "no", "$.x: expected Found (one of 'yes'), got 'no'"),
        (Access, 8, "$.x: expected flags of Access, got 8"),
        (Access, "READ", "$.x: expected Access as an int, got str"),
        (
            Decimal,
            "1,5",
            "$.x: expected Decimal as text (digits: 12.50), got other text",
        ),
        (Decimal, True, "$.x: expected Decimal as text (digits: 12.50), got bool"),
        (
            UUID,
            "1234",
            "$.x: expected UUID as text (hexadecimal digits), got other text",
        ),
        (Path, 7, "$.x: expected Path as text (a path), got int"),
        (time, "25:00", "$.x: expected time as text (HH:MM:SS.ffffff), got other text"),
        (time, "noon", "$.x: expected time as text (HH:MM:SS.ffffff), got other text"),
        (
            date,
            "2023-02-29",
            "$.x: expected date, or text (YYYY-MM-DD), got other text",
        ),
        (date, "20240229", "$.x: expected date, or text (YYYY-MM-DD), got other text"),
        (date, 5, "$.x: expected date, got int"),
        (
            datetime,
            "2024-02-29",
            "$.x: expected datetime, or text (YYYY-MM-DDTHH:MM:SS.ffffff), got other text",
        ),
        (datetime, "0001-01-01T00:00:00+01:00", "$.x: expected datetime, or text"),
        (
            timedelta,
            1500,
            "$.x: expected timedelta as text (ISO 8601: P1DT2H0.5S), got int",
        ),
        (
            timedelta,
            "P1M",
            "$.x: expected timedelta as text (ISO 8601: P1DT2H0.5S), got other text",
        ),
        (
            timedelta,
            "P9999999999D",
            "$.x: expected timedelta as text (ISO 8601: P1DT2H0.5S), got other text",
        ),
        (complex, {"re": 1}, "$.x: expected complex (an object with im, re), got dict"),
        (complex, {"re": 1, "im": "2"}, "$.x.im: expected int or float, got str"),
        (range, {"start": 1}, "$.x: expected range"),
        (range, {"stop": 1.5}, "$.x.stop: expected int, got float"),
        (
            range,
            {"stop": 1, "step": 0},
            "$.x.step: expected an int other than 0, got 0",
        ),
        (deque[str], [1], "$.x[0]: expected str, got int"),
        (list[Colour], ["red", "blue"], "$.x[1]: expected Colour"),
        (Annotated[Decimal, at.Gt(0)], "-1", "$.x: expected Decimal (> 0)"),
    ],
    ids=case_name,
)
def test_what_is_not_such_a_value_is_refused_with_its_path(
    annotation: Any, sent: Any, problem: str
) -> None:
    with pytest.raises(ArgumentsInvalid) as caught:
        bind(taking(annotation), {"x": sent})
    assert str(caught.value).startswith(problem)


def test_an_enum_of_other_values_is_refused_when_the_tool_is_loaded() -> None:
    with pytest.raises(SignatureInvalid, match=r"Pair .* such as \(1, 2\).* @decoder"):
        taking(Pair)
    with pytest.raises(Unsupported):
        compile_annotation(list[Pair])
    # But as a result its value can be sent.
    assert decode(encode(Pair.FIRST)) == (1, 2)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({Colour.RED: 1, "red": 2}, "$.v has keys that would be the same for the host"),
        (
            {Scale.WHOLE: 1, 1.0: 2},
            "$.v has keys that would be the same for the host",
        ),
        ({Colour.RED, "red"}, "$.v has items that would be the same for the host"),
        (Path("a\udc80"), "$.v is text with a lone surrogate"),
        ((Path("a\udc80"),), "$.v[0] is text with a lone surrogate"),
        ({1: Path("a\udc80")}, "$.v[1] is text with a lone surrogate"),
    ],
    ids=case_name,
)
def test_what_would_be_lost_is_refused(value: Any, problem: str) -> None:
    with pytest.raises(ValueNotTransferable) as caught:
        encode({"v": value})
    assert str(caught.value).startswith(problem)
