"""Serializers and encoders inside models of pydantic: the TypeScript is of what arrives."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Annotated, Any

import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, PlainSerializer, WrapSerializer

from snakepit_bridge import ValueNotTransferable, decoder, encoder
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.typescript.type_writer import TypeWriter
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode


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


class Label(pydantic.RootModel[float]):
    @pydantic.field_serializer("root")
    def as_text(self, value: float) -> str:
        return rounded(value)


@pytest.mark.parametrize(
    ("annotation", "value", "written", "arrives"),
    [
        (Total, Total(amount=Decimal(3)), "Record<string, number>", {"amount": 3}),
        (Label, Label(1.0), "string", "1.0"),
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
