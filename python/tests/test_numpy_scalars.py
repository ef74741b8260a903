"""Scalars of numpy: what crosses, both ways."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone
from typing import Any

import jsonschema
import numpy
import pytest
from support.case_name import case_name
from support.signatures import taking

from snakepit_bridge import ValueNotTransferable
from snakepit_bridge.tools.annotations.check import json_schema
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.typescript.type_writer import TypeWriter
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

BOTH_WAYS: list[Any] = [
    (numpy.bool_, True, numpy.bool_(True), "boolean"),
    (numpy.int8, -128, numpy.int8(-128), "number | bigint"),
    (numpy.uint64, 2**64 - 1, numpy.uint64(2**64 - 1), "number | bigint"),
    (numpy.integer, 5, numpy.int64(5), "number | bigint"),
    (numpy.float32, 0.5, numpy.float32(0.5), "number"),
    (numpy.float32, float("inf"), numpy.float32("inf"), "number"),
    (numpy.float64, 0.1, numpy.float64(0.1), "number"),
    (numpy.floating[Any], 0.1, numpy.float64(0.1), "number"),
    (numpy.complex64, {"re": 1.0, "im": 2.0}, numpy.complex64(1 + 2j), "{ re: number; im: number }"),
    (numpy.str_, "a", numpy.str_("a"), "string"),
    (numpy.bytes_, b"a", numpy.bytes_(b"a"), "Uint8Array"),
    (numpy.datetime64, date(2024, 2, 29), numpy.datetime64("2024-02-29"),
     "PlainDate | Date | PlainDateTime"),
    (numpy.datetime64, datetime(2024, 2, 29, 12), numpy.datetime64("2024-02-29T12:00:00.000000"),
     "PlainDate | Date | PlainDateTime"),
    (numpy.timedelta64, "PT1.5S", numpy.timedelta64(1_500_000, "us"), "string"),
    (list[numpy.int16], [1, 2], [numpy.int16(1), numpy.int16(2)], "Array<number | bigint>"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("annotation", "sent", "value", "written"), BOTH_WAYS, ids=case_name
)
def test_a_scalar_is_sent_as_its_equal_and_its_annotation_makes_it_again(
    annotation: Any, sent: Any, value: Any, written: str
) -> None:
    received = decode(encode([value]))[0]
    assert (received, type(received)) == (sent, type(sent))
    _, keywords = bind(taking(annotation), {"x": received})
    assert (keywords["x"], type(keywords["x"])) == (value, type(value))
    answered = compile_annotation(annotation, answered=True)
    assert TypeWriter(sent=False).written(answered) == written
    schema = json_schema(compile_annotation(annotation))
    if written != "Uint8Array" and sent != float("inf"):
        json_text = json.dumps(sent, default=date.isoformat)
        jsonschema.validate(json.loads(json_text), schema)


@pytest.mark.parametrize(
    ("annotation", "sent", "value"),
    [
        (numpy.float64, 1, numpy.float64(1)),
        (
            numpy.datetime64,
            datetime(2024, 2, 29, 12, 0, 0, 5),
            numpy.datetime64("2024-02-29T12:00:00.000005"),
        ),
        (
            numpy.datetime64,
            datetime(2024, 2, 29, 12, tzinfo=timezone(timedelta(hours=1))),
            numpy.datetime64("2024-02-29T11:00:00"),
        ),
    ],
    ids=case_name,
)
def test_a_scalar_is_made_of_what_has_its_kind(
    annotation: Any, sent: Any, value: Any
) -> None:
    _, keywords = bind(taking(annotation), {"x": decode(encode(sent))})
    assert (keywords["x"], type(keywords["x"])) == (value, type(value))


@pytest.mark.parametrize(
    ("annotation", "sent", "problem"),
    [
        (numpy.int8, 128, "$.x: not a valid int8: "),
        (numpy.uint8, -1, "$.x: not a valid uint8: "),
        (numpy.float32, 1e300, "$.x: not a valid float32: 1e+300 is outside its range"),
        (
            numpy.timedelta64,
            "P106751992D",
            "$.x: not a valid timedelta64: 106751992 days, 0:00:00 is outside",
        ),
        (numpy.int64, 1.5, "$.x: expected int, got float"),
        (numpy.bool_, 1, "$.x: expected bool, got int"),
        (numpy.datetime64, 2024, "$.x: expected date | datetime, got int"),
    ],
    ids=case_name,
)
def test_what_is_no_such_scalar_is_refused(
    annotation: Any, sent: Any, problem: str
) -> None:
    with pytest.raises(ArgumentsInvalid) as caught:
        bind(taking(annotation), {"x": sent})
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    "value",
    [
        numpy.timedelta64(10**12, "D"),
        numpy.timedelta64(10**17, "ms"),
        numpy.datetime64(10**15, "s"),
        numpy.datetime64(10**9, "D"),
    ],
    ids=case_name,
)
def test_a_time_outside_of_what_python_has_is_not_sent(value: object) -> None:
    with pytest.raises(ValueNotTransferable, match="send it as a numpy array"):
        encode(value)


def test_parts_of_a_microsecond_are_not_sent() -> None:
    span = numpy.timedelta64(1_500, "ns")
    assert decode(encode(span)) == "PT0.000001S"
