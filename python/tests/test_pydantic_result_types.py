"""The TypeScript of what pydantic writes of the parts of a model: it is what arrives."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Generic, NamedTuple, TypeVar

import pytest
from pydantic import BaseModel

from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.typescript.type_writer import TypeWriter
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

T = TypeVar("T")


class Pair(NamedTuple):
    a: int
    b: Decimal | None = None


class Box(BaseModel, Generic[T]):
    item: T


class Other(BaseModel):
    pass


def field(annotation: Any, *, sent: bool = False) -> str:
    """Returns the first field of the first object type that an annotation needs."""
    writer = TypeWriter(sent=sent, safe_integers=True)
    writer.written(compile_annotation(annotation, answered=not sent))
    return writer.fields(next(iter(writer.objects.values())))[0]


@pytest.mark.parametrize(
    ("annotation", "value", "written", "arrives"),
    [
        (Box[Pair], Pair(1), "item: [number, string | null]", (1, None)),
        (
            Box[list[Pair]],
            [Pair(1, Decimal("2.5"))],
            "item: Array<[number, string | null]>",
            [(1, "2.5")],
        ),
    ],
)
def test_a_named_tuple_in_a_model_arrives_as_an_array_as_its_type_says(
    annotation: Any, value: Any, written: str, arrives: Any
) -> None:
    assert field(annotation) == written
    assert decode(encode(annotation(item=value))) == {"item": arrives}


def test_a_named_tuple_beside_models_arrives_as_an_object_as_its_type_says() -> None:
    writer = TypeWriter(sent=False, safe_integers=True)
    written = writer.written(
        compile_annotation(Box[Pair] | Other | Pair, answered=True)
    )
    assert written == "BoxOfPair | Other | Pair"
    assert writer.fields(writer.objects[Pair]) == ["a: number", "b: string | null"]
    assert decode(encode(Pair(1))) == {"a": 1, "b": None}


def test_a_named_tuple_in_a_model_is_still_sent_as_an_object() -> None:
    assert field(Box[Pair], sent=True) == "item: Pair"
    check = compile_annotation(Box[Pair])
    assert check.check({"item": {"a": 1}}, None).item == Pair(1)
