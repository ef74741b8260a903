"""Integers of more digits than Python writes: no message, schema or type needs them."""

from __future__ import annotations

import enum
import itertools
import json
from decimal import Decimal
from typing import Annotated, Any, Literal

import jsonschema
import numpy
import pytest
from annotated_types import Ge, Le, MultipleOf
from pydantic import Field
from support.signatures import taking

from snakepit_bridge.cli.call import from_json, to_json
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.signature import Signature
from snakepit_bridge.typescript.type_writer import TypeWriter
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

LONG = 10**5_000
# pytest cannot name cases by their values, either.


class Sizes(enum.IntEnum):
    ONE = 1
    LONG = 10**5_000


class Bits(enum.Flag, boundary=enum.STRICT):
    ONE = 1


@pytest.mark.parametrize(
    ("annotation", "sent", "value"),
    [
        (int, LONG, LONG),
        (Literal[1, 10**5_000], LONG, LONG),
        (Sizes, LONG, Sizes.LONG),
        (dict[int, int], {LONG: LONG}, {LONG: LONG}),
        (dict[float, int], {1: LONG}, {1.0: LONG}),
        (Decimal, LONG, Decimal(LONG)),
        (Annotated[int, Ge(LONG)], LONG, LONG),
        (Annotated[int, MultipleOf(LONG)], LONG, LONG),
        (Annotated[int, Field(ge=1, allow_inf_nan=False)], LONG, LONG),
    ],
    ids=map(str, itertools.count()),
)
def test_it_passes(annotation: Any, sent: Any, value: Any) -> None:
    _, keywords = bind(taking(annotation), decode(encode({"x": sent})))
    assert keywords["x"] == value
    schema = taking(annotation).schema()
    jsonschema.Draft202012Validator.check_schema(json.loads(json.dumps(schema)))


@pytest.mark.parametrize(
    ("annotation", "sent", "got"),
    [
        (Literal[1], LONG, "got an int of 16610 bits"),
        (Literal[1, 10**5_000], 2, "one of 1, an int of 16610 bits, got 2"),
        (Sizes, -LONG, "got an int of 16610 bits"),
        (Bits, LONG, "got an int of 16610 bits"),
        (str, LONG, "got int"),
        (numpy.int64, LONG, "int"),
        (Annotated[int, Le(LONG)], LONG + 1, "<= an int of 16610 bits"),
        (dict[Literal[1], int], {LONG: 1}, "got an int of 16610 bits"),
        (set[Literal[1]], {LONG}, "got an int of 16610 bits"),
    ],
    ids=map(str, itertools.count()),
)
def test_it_is_refused_with_its_path(annotation: Any, sent: Any, got: str) -> None:
    with pytest.raises(ArgumentsInvalid, match="int") as caught:
        bind(taking(annotation), decode(encode({"x": sent})))
    assert caught.value.path.startswith("$.x")
    assert got in str(caught.value)


def test_it_is_written_as_a_type_and_as_json() -> None:
    check = compile_annotation(Literal[1, 10**5_000])
    assert TypeWriter(sent=True).written(check) == f"1 | {hex(LONG)}n"
    for value in (LONG, [-LONG, 1, True], {"a": {"b": LONG}}):
        assert from_json(to_json(value)) == value


def test_it_may_be_a_default() -> None:
    def function(x: int = LONG) -> None: ...

    signature = Signature(function)
    json.dumps(signature.schema())
    assert signature.written() == "x: int = ..."
