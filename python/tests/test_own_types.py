"""Encoders and decoders of a program's own types."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass
from typing import Any

import pytest
from support.signatures import taking

from snakepit_bridge import ValueNotTransferable, decoder, encoder
from snakepit_bridge.tools.annotations.check import json_schema
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.signature import SignatureInvalid
from snakepit_bridge.typescript.type_writer import TypeWriter
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import FORMS, encode


class Money:
    def __init__(self, cents: int, currency: str) -> None:
        self.cents = cents
        self.currency = currency

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.cents, self.currency))


class Gift(Money):
    pass


class Degrees(float):
    pass


class Level(enum.Enum):
    LOW = 1


@pytest.fixture(autouse=True)
def registered(unregistered: None) -> None:
    @encoder(Money)
    def write(money: Money) -> list[str | int]:
        return [money.cents, money.currency]

    @decoder
    def read(parts: tuple[int, str]) -> Money:
        if parts[0] < 0:
            raise ValueError("less than nothing")
        if parts[1] == "XXX":
            raise RuntimeError("the exchange is closed")
        return Money(*parts)


@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v], lambda v: {"a": (v,)}])
def test_a_type_crosses_both_ways(wrap: Any) -> None:
    assert decode(encode(wrap(Money(5, "EUR")))) == wrap([5, "EUR"])
    _, keywords = bind(taking(list[Money]), {"x": [[5, "EUR"]]})
    assert keywords["x"] == [Money(5, "EUR")]


def test_an_encoder_applies_to_subclasses_and_a_decoder_does_not() -> None:
    assert decode(encode(Gift(5, "EUR"))) == [5, "EUR"]
    with pytest.raises(SignatureInvalid, match="@decoder"):
        taking(Gift)


def test_the_annotations_of_both_are_the_types_in_typescript() -> None:
    taken = compile_annotation(Money)
    assert TypeWriter(sent=True).written(taken) == "readonly [number | bigint, string]"
    assert json_schema(taken)["prefixItems"] == [
        {"type": "integer"},
        {"type": "string"},
    ]
    answered = compile_annotation(dict[str, Money], answered=True)
    written = TypeWriter(sent=False, safe_integers=True).written(answered)
    assert written == "Record<string, Array<string | number>>"


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        ([5], r"\$\.x\[0\]: expected tuple\[int, str\], got list of 1"),
        ([5, 6], r"\$\.x\[0\]\[1\]: expected str, got int"),
        ([-1, "EUR"], r"\$\.x\[0\]: not a valid Money: less than nothing"),
    ],
)
def test_what_a_decoder_does_not_take_is_refused_with_its_path(
    sent: Any, problem: str
) -> None:
    with pytest.raises(ArgumentsInvalid, match=problem):
        bind(taking(list[Money]), {"x": [sent]})


def test_another_error_of_a_decoder_is_that_of_the_tool() -> None:
    with pytest.raises(RuntimeError, match="the exchange is closed"):
        bind(taking(Money), {"x": [1, "XXX"]})


def test_an_encoder_replaces_what_a_type_would_be_sent_as() -> None:
    @dataclass
    class Point:
        x: int

    assert decode(encode([Point(1), Level.LOW, Degrees(1)])) == [{"x": 1}, 1, 1.0]
    encoder(Point)(lambda point: f"at {point.x}")
    encoder(Level)(lambda level: level.name)
    encoder(Degrees)(lambda degrees: {"degrees": float(degrees)})
    values = [Point(1), Level.LOW, Degrees(1), {Level.LOW: 1}]
    assert decode(encode(values)) == ["at 1", "LOW", {"degrees": 1.0}, {"LOW": 1}]


def test_an_encoder_that_returns_its_value_is_an_error() -> None:
    encoder(Level)(lambda level: level)
    with pytest.raises(
        ValueNotTransferable, match=r"\$\.a was returned by its own @encoder"
    ):
        encode({"a": Level.LOW})


def test_what_is_sent_as_it_is_has_no_encoder() -> None:
    for kind in (str, dict, datetime.datetime):
        with pytest.raises(TypeError, match="needs no encoder"):
            encoder(kind)
    not_a_type: Any = "Money"
    with pytest.raises(TypeError, match="needs a type"):
        encoder(not_a_type)


def test_a_decoder_says_what_it_makes() -> None:
    def untyped(text: str): ...  # type: ignore[no-untyped-def]

    def of_two(a: str, b: str) -> Money: ...  # type: ignore[empty-body]

    def of_text(text: str) -> str: ...  # type: ignore[empty-body]

    for function in (untyped, of_two):
        with pytest.raises(TypeError, match="whose return annotation is the class"):
            decoder(function)
    with pytest.raises(TypeError, match="needs no decoder"):
        decoder(of_text)


def test_classes_that_are_made_all_the_time_are_not_kept() -> None:
    for number in range(3000):
        kind: Any = dataclass(
            type(f"Made{number}", (), {"__annotations__": {"x": int}})
        )
        assert decode(encode(kind(number))) == {"x": number}
    assert len(FORMS) <= 1000
