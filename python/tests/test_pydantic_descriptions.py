"""The schemas and the TypeScript of models of pydantic."""

from __future__ import annotations

from typing import Any

import jsonschema
import pydantic
import pytest
from support.models import (
    Address,
    Booking,
    Camel,
    Cat,
    Dog,
    Everything,
    Holder,
    Names,
    Node,
    Page,
    Pet,
    Place,
    User,
)
from support.signatures import taking

from snakepit_bridge.tools.annotations.check import json_schema
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.typescript.type_writer import TypeWriter


def test_the_schema_is_pydantics() -> None:
    schema = taking(User | None).schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    user = schema["properties"]["x"]["anyOf"][0]
    assert user["properties"]["age"] == {
        "maximum": 150,
        "minimum": 0,
        "title": "Age",
        "type": "integer",
    }
    assert (
        schema["$defs"]["Address"]["properties"]["number"]["description"]
        == "of the house"
    )
    good: Any = {"x": {"name": "a", "age": 1, "address": {"street": "a", "number": 1}}}
    jsonschema.validate(good, schema)
    good["x"]["address"]["number"] = 0
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(good, schema)


def test_definitions_of_one_name_are_kept_apart() -> None:
    city = pydantic.create_model("Address", city=str)
    company: Any = pydantic.create_model("Company", address=city)
    schema = json_schema(compile_annotation(tuple[User, company, User, list[Node]]))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert set(schema["$defs"]) == {"Address", "Address2", "Node"}
    assert schema["$defs"]["Address2"]["properties"] == {
        "city": {"title": "City", "type": "string"}
    }
    assert schema["$defs"]["Node"]["properties"]["children"]["items"] == {
        "$ref": "#/$defs/Node"
    }


def fields(annotation: Any, *, sent: bool) -> list[str]:
    """Returns the fields of the first object type of an annotation."""
    writer = TypeWriter(sent=sent, safe_integers=True)
    writer.written(compile_annotation(annotation, answered=not sent))
    return writer.fields(next(iter(writer.objects.values())))


def test_typescript_has_the_fields_of_each_direction() -> None:
    assert fields(User, sent=True) == [
        "name: string",
        "age: number",
        "address?: Address | null | undefined",
        "tags?: ReadonlySet<string> | undefined",
    ]
    assert fields(User, sent=False) == [
        "name: string",
        "age: number",
        "address: Address | null",
        "tags: Set<string>",
        "initial: string",
    ]
    assert fields(Camel, sent=True) == [
        "firstName: string",
        "lastName?: string | undefined",
    ]
    assert fields(Page[Address], sent=False) == ["items: Address[]"]
    assert fields(Place, sent=True) == ["x: number", "y?: number | undefined"]
    assert fields(Booking, sent=False) == [
        "made: Date | PlainDateTime",
        "day: PlainDate",
        "before: Booking | null",
    ]
    assert fields(Everything, sent=False)[-1] == "site: string"
    for pet in (Pet, Cat | Dog):
        writer = TypeWriter(sent=True)
        assert writer.written(compile_annotation(pet)) == "Cat | Dog"
    names = compile_annotation(Names)
    assert TypeWriter(sent=True).written(names) == "readonly string[]"


def test_a_model_inside_a_result_that_cannot_be_described_is_known() -> None:
    check = compile_annotation(dict[str, Holder | int], answered=True)
    assert (
        TypeWriter(sent=False).written(check)
        == "Record<string, Holder | number | bigint>"
    )
