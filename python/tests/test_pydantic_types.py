"""Models of pydantic and what else it checks: objects on the other side."""

from __future__ import annotations

import json
from collections import deque
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import numpy
import pydantic
import pytest
from pydantic import Field
from support.case_name import case_name
from support.models import (
    Address,
    Booking,
    Camel,
    Cat,
    Colour,
    Dog,
    Everything,
    Holder,
    Names,
    Node,
    Page,
    Pet,
    Place,
    Secret,
    User,
)
from support.signatures import taking

from snakepit_bridge import ValueNotTransferable
from snakepit_bridge.tools.annotations.check import json_schema
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.signature import SignatureInvalid
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

ID = UUID("12345678-1234-5678-1234-567812345678")
NOON = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)
EVERYTHING = Everything(
    colour=Colour.RED,
    price=Decimal("1.50"),
    id=ID,
    path=Path("a/b"),
    wait=timedelta(seconds=-90.5),
    at=time(12, 30),
    day=date(2024, 1, 2),
    moment=NOON,
    data=b"a\xff",
    pair=(1, "a"),
    queue=deque([1]),
    numbers={"a": 0.5},
    site=pydantic.AnyHttpUrl("https://example.org/a"),
)

# The annotation, what is sent for a value, and the value.
BOTH_WAYS: list[Any] = [
    (
        User,
        {
            "name": "Ann",
            "age": 30,
            "address": {"street": "Main", "number": 1},
            "tags": {"a"},
            "initial": "A",
        },
        User(name="ann", age=30, address=Address(street="Main", number=1), tags={"a"}),
    ),
    (Camel, {"firstName": "a", "lastName": ""}, Camel.model_validate({"firstName": "a"})),
    (Booking, {"made": NOON, "day": date(2024, 1, 2), "before": None},
     Booking(made=NOON, day=date(2024, 1, 2))),
    (Node, {"value": 1, "children": [{"value": 2, "children": []}]},
     Node(value=1, children=[Node(value=2)])),
    (Page[Address], {"items": [{"street": "a", "number": 1}]},
     Page[Address](items=[Address(street="a", number=1)])),
    (Names, ["a", "b"], Names(["a", "b"])),
    (Pet, {"kind": "cat", "lives": 9}, Cat(lives=9)),
    (Cat | Dog, {"kind": "dog", "tricks": []}, Dog(tricks=[])),
    (Place, {"x": 1, "y": 0}, Place(1)),
    (list[Address] | None, [{"street": "a", "number": 1}],
     [Address(street="a", number=1)]),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "sent", "value"), BOTH_WAYS, ids=case_name)
def test_a_model_is_sent_as_an_object_and_its_annotation_makes_it_again(
    annotation: Any, sent: Any, value: Any
) -> None:
    received = decode(encode([value]))[0]
    assert received == sent
    _, keywords = bind(taking(annotation), {"x": received})
    assert keywords["x"] == value
    assert type(keywords["x"]) is type(value)


def test_every_kind_of_field_comes_back() -> None:
    received = decode(encode(EVERYTHING))
    assert received == {
        "colour": "red",
        "price": "1.50",
        "id": str(ID),
        "path": "a/b",
        "wait": "-PT1M30.5S",
        "at": "12:30:00",
        "day": date(2024, 1, 2),
        "moment": NOON,
        "data": b"a\xff",
        "pair": (1, "a"),
        "queue": [1],
        "numbers": {"a": 0.5},
        "site": "https://example.org/a",
    }
    _, keywords = bind(taking(Everything), {"x": received})
    assert keywords["x"] == EVERYTHING


@pytest.mark.parametrize(
    ("annotation", "sent", "problem"),
    [
        (User, {"name": "a", "age": -1}, "$.x.age: Input should be greater than or equal to 0"),
        (
            User,
            {"name": "a", "age": 1, "address": {"street": "", "number": "one"}},
            "$.x.address.street: String should have at least 1 character; $.x.address.number: Input should be a valid integer",
        ),
        (User, {"name": "nobody", "age": 1}, "$.x.name: Value error, nobody has that name"),
        (User, 7, "$.x: Input should be a valid dictionary or instance of User"),
        (Camel, {"firstName": "a", "first_name": "b"}, "$.x.first_name: Extra inputs are not permitted"),
        (Node, {"value": 1, "children": [{}]}, "$.x.children[0].value: Field required"),
        (Pet, {"kind": "cow"}, "$.x: Input tag 'cow' found using 'kind' does not match any of the expected tags: 'cat', 'dog'"),
        (Place, {"x": 0}, "$.x.x: Input should be greater than 0"),
        (Address | None, {"street": "a", "number": 0}, "$.x.number: Input should be greater than 0"),
        (list[Address], [{"street": "a", "number": 1}, 5], "$.x[1]: Input should be a valid dictionary"),
        (pydantic.AnyHttpUrl, "no url", "$.x: Input should be a valid URL"),
    ],
    ids=case_name,
)  # fmt: skip
def test_the_messages_are_pydantics_with_their_path(
    annotation: Any, sent: Any, problem: str
) -> None:
    with pytest.raises(ArgumentsInvalid) as caught:
        bind(taking(annotation), {"x": sent})
    assert str(caught.value).startswith(problem)


def test_a_value_is_not_in_the_message() -> None:
    with pytest.raises(ArgumentsInvalid) as caught:
        bind(taking(User), {"x": {"name": "a", "age": "hunter2"}})
    assert "hunter2" not in str(caught.value)


def test_five_errors_are_named_and_the_others_counted() -> None:
    with pytest.raises(ArgumentsInvalid) as caught:
        bind(taking(Names), {"x": [*range(9)]})
    message = str(caught.value)
    assert message.startswith(
        "$.x[0]: Input should be a valid string; $.x[1]: Input should"
    )
    assert message.endswith("; $.x[4]: Input should be a valid string; and 4 more")


@pytest.mark.parametrize(
    ("annotation", "sent", "value"),
    [
        (Annotated[int, pydantic.AfterValidator(lambda n: n * 2)], 3, 6),
        (pydantic.constr(strip_whitespace=True), " a ", "a"),
        (Annotated[Decimal, Field(max_digits=3)], "1.25", Decimal("1.25")),
        (pydantic.AnyHttpUrl, "http://a.b/", pydantic.AnyHttpUrl("http://a.b/")),
        (list[pydantic.SecretStr], ["a"], [pydantic.SecretStr("a")]),
    ],
    ids=case_name,
)
def test_other_metadata_and_types_of_pydantic_are_applied_by_it(
    annotation: Any, sent: Any, value: Any
) -> None:
    _, keywords = bind(taking(annotation), {"x": sent})
    assert keywords["x"] == value


def test_what_pydantic_does_not_know_is_refused_when_the_tool_is_loaded() -> None:
    array = numpy.ndarray[Any, Any]
    with pytest.raises(SignatureInvalid, match="pydantic cannot validate ndarray"):
        taking(Annotated[array, pydantic.AfterValidator(lambda a: a)])


def test_a_secret_is_not_sent() -> None:
    with pytest.raises(
        ValueNotTransferable,
        match=r"\$\.password has the type pydantic\.types\.SecretStr",
    ):
        encode(Secret(password=pydantic.SecretStr("hunter2")))


def test_a_model_may_hold_an_array() -> None:
    _, keywords = bind(
        taking(Holder), {"x": decode(encode(Holder(array=numpy.ones(3))))}
    )
    assert keywords["x"].array.tolist() == [1.0, 1.0, 1.0]
    # pydantic has no schema of an array: ours describes the model.
    schema = json_schema(compile_annotation(Holder))
    assert "$ndarray" in json.dumps(schema)
