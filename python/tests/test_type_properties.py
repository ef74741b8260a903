"""Any value of a type that is sent as another comes back as it was."""

from __future__ import annotations

import enum
from collections import deque
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Network
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from support.signatures import taking

from snakepit_bridge.tools.binding import bind
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode


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
    Point: POINTS,
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
}
HASHABLE = [Colour, Size, Decimal, UUID, PurePosixPath, timedelta]


@pytest.mark.parametrize("annotation", VALUES)
def test_every_row_comes_back(annotation: Any) -> None:
    signature = taking(annotation)

    @given(VALUES[annotation])
    def comes_back(value: Any) -> None:
        received = decode(encode(value))
        _, keywords = bind(signature, {"x": received})
        assert keywords["x"] == value
        assert type(keywords["x"]) is type(value)
        # And what came back is sent as before.
        assert decode(encode(keywords["x"])) == received

    comes_back()


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
