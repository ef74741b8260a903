"""What describes dataclasses and their like: TypeScript, schemas and documentation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from support.records import (
    Account,
    Circle,
    Colour,
    Kept,
    KeptPoint,
    Line,
    Page,
    Point,
    Size,
    Untyped,
)
from typing_extensions import Unpack

from snakepit_bridge.tools.annotations.check import ObjectCheck, json_schema
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.signature import Signature
from snakepit_bridge.typescript.type_writer import TypeWriter


def written(annotation: Any, *, sent: bool) -> dict[str, Sequence[str]]:
    """Returns the fields of the object types of an annotation, by name."""
    writer = TypeWriter(sent=sent, safe_integers=True)
    check = compile_annotation(annotation, answered=not sent)
    name = writer.written(check)
    assert isinstance(check, ObjectCheck)
    return {name: writer.fields(check)}


def test_typescript_has_the_fields_of_each_direction() -> None:
    number = "number | bigint | Float"
    assert written(Point, sent=True) == {
        "Point": [
            f"x: {number}",
            f"y?: {number} | undefined",
            'colour?: "red" | null | undefined',
        ]
    }
    assert written(Point, sent=False) == {
        "Point": ["x: number", "y: number", 'colour: "red" | null']
    }
    assert written(Account, sent=True) == {
        "Account": ["owner: string", "opening: string | number | bigint"]
    }
    assert written(Account, sent=False) == {
        "Account": ["owner: string", "balance: string"]
    }
    assert written(Page[Point], sent=False) == {
        "PageOfPoint": ["items: Point[]", "following: Point | null"]
    }
    assert written(KeptPoint, sent=False) == {
        "KeptPoint": ["value: Point", "past?: Point[]", "note: string"]
    }
    assert written(Circle, sent=False) == {
        "Circle": ['type: "Circle"', "outerRadius: number", "label?: string"]
    }


def test_the_keys_of_unpacked_options_are_parameters() -> None:
    def tool(first: int, **options: Unpack[Kept[Decimal]]) -> None: ...

    signature = Signature(tool)
    assert bind(signature, {"first": 1, "value": "1.5"}) == (
        [],
        {"first": 1, "value": Decimal("1.5")},
    )
    for given, problem in (
        ({"first": 1}, r"\$\.value: missing argument, expected Decimal"),
        ({"first": 1, "value": "a"}, r"\$\.value: expected Decimal"),
        ({"first": 1, "value": 1, "other": 2}, r"\$\.other: unexpected argument"),
        ([1], r"\$\.value: missing argument"),
    ):
        with pytest.raises(ArgumentsInvalid, match=problem):
            bind(signature, given)
    assert signature.schema()["required"] == ["first", "value"]
    assert (
        signature.written() == "first: int, value: Decimal, past: list[Decimal] = ..."
    )


def test_the_schema_has_defaults_as_they_are_sent() -> None:
    def tool(
        point: Point = Point(1.0),  # noqa: B008 - it is not changed
        colours: tuple[Colour, ...] = (Colour.RED,),
        wait: timedelta = timedelta(0),
        data: bytes = b"",
        other: object = object(),
    ) -> None: ...

    signature = Signature(tool)
    defaults = {
        name: described.get("default", "none")
        for name, described in signature.schema()["properties"].items()
    }
    assert defaults == {
        "point": {"x": 1.0, "y": 0.0, "colour": None},
        "colours": ("red",),
        "wait": "PT0S",
        "data": "none",
        "other": "none",
    }
    assert "wait: timedelta = 'PT0S', data: bytes = ...," in signature.written()


def test_only_a_written_docstring_is_the_documentation() -> None:
    for kind, text in ((Point, "A place."), (Line, ""), (Size, ""), (Untyped, "")):
        check = compile_annotation(kind)
        assert isinstance(check, ObjectCheck)
        assert check.documentation == text
        defined = json_schema(check)["$defs"][kind.__name__]
        assert defined.get("description", "") == text
