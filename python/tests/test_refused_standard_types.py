"""What is no value of a type of the standard library, or would be lost on its way."""

from __future__ import annotations

from collections import deque
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import annotated_types as at
import pytest
from support.case_name import case_name
from support.enums import Access, Colour, Found, Pair, Scale, Size
from support.signatures import taking

from snakepit_bridge import ValueNotTransferable
from snakepit_bridge.tools.annotations.check import Unsupported
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.signature import SignatureInvalid
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode


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
