"""Any value of a type that is sent as another comes back as it was."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Network
from pathlib import PurePosixPath
from typing import Any, Generic, Literal, NamedTuple, TypeVar
from uuid import UUID

import attrs
import msgspec
import numpy
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from support.effort import SINGLE_VALUES
from support.signatures import taking
from typing_extensions import NotRequired, TypedDict

from snakepit_bridge import decoder, encoder
from snakepit_bridge.tools.binding import bind
from snakepit_bridge.values import own_types
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import FORMS, encode


class Colour(enum.Enum):
    RED = "red"
    GREEN = 2
    BLUE = 0.5


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Access(enum.Flag):
    READ = 1
    WRITE = 2
    RUN = 4


class Rights(enum.IntFlag):
    READ = 1
    WRITE = 2


class Pair(NamedTuple):
    left: int
    right: Colour


@dataclass
class Point:
    x: float
    at: time | None = None
    sizes: list[Size] = field(default_factory=list)
    pair: Pair | None = None


@attrs.define
class Job:
    wait: timedelta
    _key: UUID


class Shape(msgspec.Struct, tag=True, rename="camel"):
    outer_edge: Decimal
    name: str | msgspec.UnsetType = msgspec.UNSET


class Model(BaseModel):
    id: UUID
    colour: Colour
    wait: timedelta
    amount: Decimal
    when: datetime
    day: date | None
    data: bytes
    points: list[Point]
    tags: dict[str, set[int]]


T = TypeVar("T")


class Kept(TypedDict, Generic[T]):
    value: T
    past: NotRequired[list[T]]


class KeptPoint(Kept[Point]):
    note: str


@dataclass
class Page(Generic[T]):
    items: list[T]


@dataclass
class Points(Page[Point]):
    more: Page[Pair] | None = None


@pydantic.dataclasses.dataclass
class Place:
    x: float
    id: UUID


class Names(pydantic.RootModel[list[Colour]]):
    pass


class Money(NamedTuple):
    cents: int


def write(money: Money) -> str:
    return f"{money.cents} ct"


def read(text: str) -> Money:
    return Money(int(text.removesuffix(" ct")))


@pytest.fixture(autouse=True, scope="module")
def own_type() -> Iterator[None]:
    encoder(Money)(write)
    decoder(read)
    yield
    for registry in (own_types.ENCODERS, own_types.DECODERS, FORMS):
        registry.pop(Money, None)


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
FINITE = st.floats(allow_nan=False)
HOURS = st.integers(-23, 23).map(lambda hours: timezone(timedelta(hours=hours)))
TIMES = st.times() | st.times(timezones=HOURS)
DECIMALS = st.decimals(allow_nan=False)
INSTANTS = st.datetimes() | st.datetimes(timezones=st.just(timezone.utc))
COLOURS = st.sampled_from(Colour)
PAIRS = st.builds(Pair, st.integers(), COLOURS)
POINTS = st.builds(
    Point,
    FINITE,
    st.none() | TIMES,
    st.lists(st.sampled_from(Size), max_size=3),
    st.none() | PAIRS,
)
NON_ZERO = st.integers(-9, 9).filter(bool)

# By the annotation, a row of the table in docs/values.md.
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    Colour: COLOURS,
    Size: st.sampled_from(Size),
    Access: st.integers(0, 7).map(Access),
    Rights: st.integers(0, 3).map(Rights),
    Literal[Colour.RED, 7, True, "a"]: st.sampled_from([Colour.RED, 7, True, "a"]),
    Decimal: DECIMALS,
    UUID: st.uuids(),
    PurePosixPath: TEXT.map(PurePosixPath),
    IPv4Address: st.ip_addresses(v=4),
    IPv6Network: st.ip_addresses(v=6).map(IPv6Network),
    timedelta: st.timedeltas(),
    time: TIMES,
    complex: st.complex_numbers(allow_nan=False),
    range: st.builds(range, st.integers(), st.integers(), NON_ZERO),
    deque[UUID]: st.lists(st.uuids(), max_size=3).map(deque),
    KeptPoint: st.fixed_dictionaries(
        {"value": POINTS, "note": TEXT},
        optional={"past": st.lists(POINTS, max_size=2)},
    ),
    Point: POINTS,
    Points: st.builds(
        Points,
        st.lists(POINTS, max_size=2),
        st.none() | st.builds(Page, st.lists(PAIRS, max_size=2)),
    ),
    Pair: PAIRS,
    Job: st.builds(Job, st.timedeltas(), st.uuids()),
    Shape: st.builds(Shape, DECIMALS) | st.builds(Shape, DECIMALS, TEXT),
    Model: st.builds(
        Model,
        id=st.uuids(),
        colour=COLOURS,
        wait=st.timedeltas(),
        amount=st.decimals(allow_nan=False, allow_infinity=False),
        when=INSTANTS,
        day=st.none() | st.dates(),
        data=st.binary(),
        points=st.lists(POINTS, max_size=2),
        tags=st.dictionaries(TEXT, st.sets(st.integers()), max_size=2),
    ),
    Place: st.builds(Place, FINITE, st.uuids()),
    Names: st.builds(Names, st.lists(COLOURS, max_size=3)),
    pydantic.AnyUrl: st.sampled_from(
        ["https://a.example/b?c=d", "ftp://e.example/"]
    ).map(pydantic.AnyUrl),
    numpy.bool_: st.booleans().map(numpy.bool_),
    numpy.int16: st.integers(-(2**15), 2**15 - 1).map(numpy.int16),
    numpy.float32: st.floats(width=32, allow_nan=False).map(numpy.float32),
    numpy.complex64: st.complex_numbers(width=64, allow_nan=False).map(numpy.complex64),
    numpy.datetime64: (st.dates() | st.datetimes()).map(numpy.datetime64),
    numpy.timedelta64: st.timedeltas(
        timedelta(-106_751_990), timedelta(106_751_990)
    ).map(numpy.timedelta64),
    Money: st.builds(Money, st.integers()),
}
HASHABLE = [Colour, Size, Decimal, UUID, PurePosixPath, timedelta]


@pytest.mark.parametrize("annotation", VALUES)
def test_every_row_comes_back(annotation: Any) -> None:
    signature = taking(annotation)

    @given(VALUES[annotation])
    def comes_back(value: Any) -> None:
        received = decode(encode(value))
        if isinstance(value, Money):
            assert received == f"{value.cents} ct"
        _, keywords = bind(signature, {"x": received})
        assert keywords["x"] == value
        assert type(keywords["x"]) is type(value)
        # And what came back is sent as before.
        assert decode(encode(keywords["x"])) == received

    comes_back()


@SINGLE_VALUES
@given(st.data())
def test_rows_come_back_inside_others(data: st.DataObject) -> None:
    kind: Any = data.draw(st.sampled_from(list(VALUES)), "inside")
    key: Any = data.draw(st.sampled_from(HASHABLE), "key")
    inside, keys = VALUES[kind], VALUES[key]
    inside_others: dict[Any, st.SearchStrategy[Any]] = {
        list.__class_getitem__(kind): st.lists(inside, max_size=3),
        tuple.__class_getitem__((kind, ...)): st.lists(inside, max_size=3).map(tuple),
        kind | None: st.none() | inside,
        dict.__class_getitem__((key, kind)): st.dictionaries(keys, inside, max_size=3),
        frozenset.__class_getitem__(key): st.frozensets(keys, max_size=3),
    }
    annotation = data.draw(st.sampled_from(list(inside_others)), "annotation")
    value = data.draw(inside_others[annotation], "value")
    _, keywords = bind(taking(annotation), {"x": decode(encode(value))})
    assert keywords["x"] == value
