"""Classes of attrs and msgspec as fields of models: pydantic takes only their instances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import attrs
import msgspec
import pytest
from pydantic import BaseModel, BeforeValidator, ConfigDict

from snakepit_bridge.tools.annotations.check import Mismatch
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.typescript.type_writer import TypeWriter


@attrs.define
class Corner:
    x: int


class Side(msgspec.Struct):
    length: int


@dataclass
class Label:
    text: str


class Shape(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    corner: Corner
    sides: list[Side]
    label: Label


class Made(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    corner: Annotated[Corner, BeforeValidator(lambda given: Corner(**given))]


def fields(annotation: Any) -> list[str]:
    writer = TypeWriter(sent=True)
    writer.written(compile_annotation(annotation))
    return writer.fields(next(iter(writer.objects.values())))


def test_the_type_of_an_argument_promises_no_conversion() -> None:
    assert fields(Shape) == [
        "corner: unknown",
        "sides: readonly unknown[]",
        "label: Label",
    ]
    assert fields(Made) == ["corner: unknown"]


def test_only_a_validator_makes_an_instance_of_a_plain_object() -> None:
    arrived = {"corner": {"x": 1}}
    assert compile_annotation(Made).check(arrived, None).corner == Corner(1)
    shape = {**arrived, "sides": [], "label": {"text": "a"}}
    with pytest.raises(Mismatch, match="instance of Corner"):
        compile_annotation(Shape).check(shape, None)


@pytest.mark.parametrize("kind", [Corner, Side])
def test_one_that_is_a_parameter_is_typed(kind: type) -> None:
    assert TypeWriter(sent=True).written(compile_annotation(kind)) == kind.__name__
