"""Models of pydantic and what else it checks: objects on the other side."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections import deque
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Generic, NamedTuple, TypeVar
from uuid import UUID

import attrs
import jsonschema
import msgspec
import numpy
import pydantic
import pytest
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WrapSerializer,
)
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

from snakepit_bridge import ValueNotTransferable, decoder, encoder
from snakepit_bridge.tools.annotations.check import Mismatch, json_schema
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.signature import SignatureInvalid
from snakepit_bridge.typescript.type_writer import TypeWriter
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


# -------- Serializers and encoders inside models of pydantic: the TypeScript is of what arrives


def fields(annotation: Any, *, sent: bool = False) -> list[str]:
    """Returns the fields of the first object type that an annotation needs."""
    writer = TypeWriter(sent=sent, safe_integers=True)
    writer.written(compile_annotation(annotation, answered=not sent))
    return writer.fields(next(iter(writer.objects.values())))


def received(value: Any) -> Any:
    """Returns what arrives of a result."""
    return decode(encode(value))


def rounded(value: float) -> str:
    return f"{value:.1f}"


def untyped(value, handler):  # type: ignore[no-untyped-def]
    return [handler(value)]


class Reading(BaseModel):
    by_name: float
    plain: Annotated[float, PlainSerializer(rounded)] = 1.0
    given: Annotated[
        float | None,
        PlainSerializer(lambda v: f"{v}", return_type=str, when_used="unless-none"),
    ] = None
    of_json: Annotated[float, PlainSerializer(rounded, when_used="json")] = 1.0
    not_known: Annotated[int, WrapSerializer(untyped)] = 1
    inside: list[Annotated[float, PlainSerializer(rounded)]] = [1.0]

    @pydantic.field_serializer("by_name", "computed")
    def as_text(self, value: float) -> str:
        return rounded(value)

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def computed(self) -> float:
        return 2.0


def test_the_type_of_a_field_is_that_of_its_serializer() -> None:
    assert fields(Reading) == [
        "by_name: string",
        "plain: string",
        "given: string | null",
        "of_json: number",
        "not_known: unknown",
        "inside: string[]",
        "computed: string",
    ]
    assert received(Reading(by_name=0.5)) == {
        "by_name": "0.5",
        "plain": "1.0",
        "given": None,
        "of_json": 1.0,
        "not_known": [1],
        "inside": ["1.0"],
        "computed": "2.0",
    }


def test_what_is_sent_for_such_a_field_is_what_pydantic_takes() -> None:
    assert fields(Reading, sent=True)[:2] == [
        "by_name: number | bigint | Float",
        "plain?: number | bigint | Float | undefined",
    ]


class Total(BaseModel):
    amount: Decimal

    @pydantic.model_serializer
    def as_numbers(self) -> dict[str, int]:
        return {"amount": int(self.amount)}


class RoundedFloat(pydantic.RootModel[float]):
    @pydantic.field_serializer("root")
    def as_text(self, value: float) -> str:
        return rounded(value)


@pytest.mark.parametrize(
    ("annotation", "value", "written", "arrives"),
    [
        (Total, Total(amount=Decimal(3)), "Record<string, number>", {"amount": 3}),
        (RoundedFloat, RoundedFloat(1.0), "string", "1.0"),
        # It is no part of a model: pydantic does not write it.
        (Annotated[float, PlainSerializer(rounded)], 1.0, "number", 1.0),
    ],
)
def test_the_type_of_a_result_is_that_of_its_serializer(
    annotation: Any, value: Any, written: str, arrives: Any
) -> None:
    check = compile_annotation(annotation, answered=True)
    assert TypeWriter(sent=False, safe_integers=True).written(check) == written
    assert received(value) == arrives


class Login(BaseModel):
    hidden: pydantic.SecretStr
    shown: pydantic.SecretStr | None = None

    @pydantic.field_serializer("shown")
    def revealed(self, value: pydantic.SecretStr | None) -> str | None:
        return None if value is None else value.get_secret_value()


def test_a_secret_has_no_type_unless_a_serializer_writes_it() -> None:
    assert fields(Login) == ["hidden: unknown", "shown: string | null"]
    assert fields(Login, sent=True)[0] == "hidden: string"
    with pytest.raises(
        ValueNotTransferable,
        match=r"\$\.hidden has the type pydantic\.types\.SecretStr",
    ):
        encode(Login(hidden=pydantic.SecretStr("a")))


@dataclasses.dataclass
class Money:
    cents: int


class Plain:
    def __init__(self, text: str) -> None:
        self.text = text


@encoder(Money)
def write_money(money: Money) -> str:
    return f"{money.cents} cents"


@decoder
def read_money(text: str) -> Money:
    return Money(int(text.split()[0]))


@encoder(Plain)
def write_plain(plain: Plain) -> str:
    return plain.text


class Order(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    price: Money
    note: Plain


def test_pydantic_takes_dataclasses_apart_and_leaves_other_classes_to_encoders() -> (
    None
):
    assert fields(Order) == ["price: Money", "note: string"]
    order = Order(price=Money(5), note=Plain("a"))
    assert received([order, Money(5)]) == [
        {"price": {"cents": 5}, "note": "a"},
        "5 cents",
    ]


def test_decoders_are_not_used_inside_a_model() -> None:
    assert fields(Order, sent=True)[0] == "price: Money"

    class Bill(BaseModel):
        price: Money

    assert compile_annotation(Bill).check({"price": {"cents": 5}}, None).price == Money(
        5
    )


# ------------------------ The schemas and the TypeScript of models of pydantic


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


# -------- Classes of attrs and msgspec as fields of models: pydantic takes only their instances


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


def test_the_type_of_an_argument_promises_no_conversion() -> None:
    assert fields(Shape, sent=True) == [
        "corner: unknown",
        "sides: readonly unknown[]",
        "label: Label",
    ]
    assert fields(Made, sent=True) == ["corner: unknown"]


def test_only_a_validator_makes_an_instance_of_a_plain_object() -> None:
    arrived = {"corner": {"x": 1}}
    assert compile_annotation(Made).check(arrived, None).corner == Corner(1)
    shape = {**arrived, "sides": [], "label": {"text": "a"}}
    with pytest.raises(Mismatch, match="instance of Corner"):
        compile_annotation(Shape).check(shape, None)


@pytest.mark.parametrize("kind", [Corner, Side])
def test_one_that_is_a_parameter_is_typed(kind: type) -> None:
    assert TypeWriter(sent=True).written(compile_annotation(kind)) == kind.__name__


# -------- Tables as fields of models: pydantic takes only instances of their class


class DataFrame:
    """Stands for the class of pandas, which these tests do not install."""


def converted(value: Any) -> DataFrame:
    return DataFrame()


class Report(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    table: DataFrame


class Converting(Report):
    table: Annotated[DataFrame, BeforeValidator(converted)]


@pytest.fixture
def pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("pandas")
    module.DataFrame = DataFrame
    monkeypatch.setitem(sys.modules, "pandas", module)


@pytest.mark.usefixtures("pandas")
@pytest.mark.parametrize("model", [Report, Converting])
def test_the_type_of_a_table_promises_no_conversion(model: type) -> None:
    assert fields(model, sent=True) == ["table: unknown"]
    assert fields(model, sent=False) == ["table: ArrowTable"]


@pytest.mark.usefixtures("pandas")
def test_only_a_validator_makes_a_table() -> None:
    arrived = {"table": object()}
    assert type(compile_annotation(Converting).check(arrived, None).table) is DataFrame
    with pytest.raises(Mismatch, match="instance of DataFrame"):
        compile_annotation(Report).check(arrived, None)


@pytest.mark.usefixtures("pandas")
def test_a_table_that_is_a_parameter_is_typed() -> None:
    assert TypeWriter(sent=True).written(compile_annotation(DataFrame)) == "ArrowTable"


# -------- The TypeScript of what pydantic writes of the parts of a model: it is what arrives

T = TypeVar("T")


class Pair(NamedTuple):
    a: int
    b: Decimal | None = None


class Box(BaseModel, Generic[T]):
    item: T


class Other(BaseModel):
    pass


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
    assert fields(annotation)[0] == written
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
    assert fields(Box[Pair], sent=True)[0] == "item: Pair"
    check = compile_annotation(Box[Pair])
    assert check.check({"item": {"a": 1}}, None).item == Pair(1)
