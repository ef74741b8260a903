"""Signatures as JSON schemas."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from datetime import date, datetime
from typing import Any, Literal, TypedDict

import jsonschema
import numpy
import pytest

from snakepit_bridge import NdArray
from snakepit_bridge.cli.call import from_json
from snakepit_bridge.tools.annotations.check import json_schema
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.signature import Signature


class Box(TypedDict):
    label: str
    size: tuple[int, int]


def everything(
    a: int,
    b: float,
    c: str | None,
    d: bytes,
    e: list[Box],
    f: dict[str, bool],
    g: set[int],
    h: Literal["x", 2],
    i: datetime,
    j: date,
    k: numpy.ndarray[Any, Any],
    m: NdArray,
    n: tuple[int, ...],
    o: Any = None,
    p: int = 7,
) -> list[float]:
    return []


def test_a_signature_becomes_a_schema_of_2020_12() -> None:
    schema = Signature(everything).schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert json.loads(json.dumps(schema)) == schema
    assert schema["required"] == list("abcdefghijkmn")
    assert schema["additionalProperties"] is False
    properties = schema["properties"]
    assert properties["a"] == {"type": "integer"}
    assert properties["b"] == {"type": "number"}
    assert properties["c"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert properties["d"] == {"type": "string", "contentEncoding": "base64"}
    assert properties["e"]["items"] == {"$ref": "#/$defs/Box"}
    assert schema["$defs"]["Box"] == {
        "type": "object",
        "properties": {
            "label": {"type": "string"},
            "size": {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "integer"}],
                "minItems": 2,
                "maxItems": 2,
            },
        },
        "required": ["label", "size"],
        "additionalProperties": False,
    }
    assert properties["f"]["additionalProperties"] == {"type": "boolean"}
    assert properties["g"]["uniqueItems"] is True
    assert properties["h"] == {"enum": ["x", 2]}
    assert properties["i"]["format"] == "date-time"
    assert properties["j"]["format"] == "date"
    assert properties["p"] == {"type": "integer", "default": 7}


def test_the_schema_of_a_stream_is_that_of_a_chunk() -> None:
    def chunks() -> Iterator[int]:
        yield 1

    async def later() -> AsyncIterator[str]:
        yield "a"

    def promising_less() -> Iterable[int]:
        yield 1

    async def promising_less_later() -> AsyncIterable[str]:
        yield "a"

    for numbers in (chunks, promising_less):
        assert json_schema(Signature(numbers).result) == {"type": "integer"}
    for texts in (later, promising_less_later):
        assert json_schema(Signature(texts).result) == {"type": "string"}
    assert json_schema(Signature(everything).result) == {
        "type": "array",
        "items": {"type": "number"},
    }


def test_a_result_of_a_type_that_does_not_cross_has_an_open_schema() -> None:
    def odd() -> Iterator[NotImplementedError]:
        yield NotImplementedError()

    assert json_schema(Signature(odd).result) == {}


def simple(a: int, b: list[str] | None = None, c: Literal["x", "y"] = "x") -> None: ...


@pytest.mark.parametrize(
    "arguments",
    [
        '{"a": 1}',
        '{"a": 1, "b": ["c"], "c": "y"}',
        '{"a": "1"}',
        '{"a": true}',
        '{"b": null}',
        '{"a": 1, "b": [1]}',
        '{"a": 1, "c": "z"}',
        '{"a": 1, "d": 2}',
    ],
)
def test_the_schema_and_the_check_agree(arguments: str) -> None:
    signature = Signature(simple)
    validator = jsonschema.Draft202012Validator(signature.schema())
    try:
        bind(signature, from_json(arguments))
        passes = True
    except ArgumentsInvalid:
        passes = False
    assert validator.is_valid(json.loads(arguments)) is passes
