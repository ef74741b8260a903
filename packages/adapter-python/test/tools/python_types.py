"""Types that are sent as others, and whatever carries values."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import time, timedelta
from decimal import Decimal
from enum import Enum, Flag, IntEnum
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar
from uuid import UUID

import attrs
import msgspec
import numpy
import pydantic
from pydantic import AnyUrl, BaseModel
from snakepit_bridge import current_call, decoder, encoder, tool
from typing_extensions import NotRequired, Self, TypedDict

T = TypeVar("T")


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


class Access(Flag):
    READ = 1
    WRITE = 2


class Corner(NamedTuple):
    x: float
    y: float


@dataclass
class Box:
    corner: Corner
    colour: Colour | None
    sizes: dict[Colour, Size]


class Kept(TypedDict, Generic[T]):
    value: T
    past: NotRequired[list[T]]


@dataclass
class Page(Generic[T]):
    items: list[T]
    following: Self | None


@dataclass
class Boxes(Page[Box]):
    kind: Literal["boxes"] = "boxes"


@attrs.define
class Job:
    wait: timedelta
    _key: UUID


class Shape(msgspec.Struct, tag=True, rename="camel"):
    outer_edge: Decimal


class Model(BaseModel):
    id: UUID
    waits: list[timedelta]
    colour: Colour


@pydantic.dataclasses.dataclass
class Place:
    id: UUID
    floor: int = pydantic.Field(default=0, ge=-5)


class Money:
    def __init__(self, cents: int) -> None:
        self.cents = cents


@encoder(Money)
def write(money: Money) -> str:
    if money.cents < 0:
        raise ArithmeticError("less than nothing")
    return f"{money.cents} ct"


@decoder
def read(text: str) -> Money:
    if text == "closed":
        raise RuntimeError("the exchange is closed")
    return Money(int(text.removesuffix(" ct")))


@dataclass
class Row:
    """A field for each row of the table in docs/values.md."""

    colour: Colour
    size: Size
    access: Access
    decimal: Decimal
    uuid: UUID
    path: Path
    address: IPv4Address
    wait: timedelta
    at: time
    number: complex
    steps: range
    queue: deque[UUID]
    box: Box
    boxes: Boxes
    job: Job
    shape: Shape
    model: Model
    money: Money
    place: Place
    site: AnyUrl
    ratio: numpy.float32
    count: numpy.int16
    moment: numpy.datetime64
    span: numpy.timedelta64
    kept: Kept[Corner]
    either: Decimal | Colour | None


@tool
def crossed(rows: list[Row]) -> list[Row]:
    """Returns the rows, if each part is of its type."""
    kinds = [
        *(Colour, Size, Access, Decimal, UUID, Path, IPv4Address, timedelta, time),
        *(complex, range, deque, Box, Boxes, Job, Shape, Model, Money),
        *(
            Place,
            AnyUrl,
            numpy.float32,
            numpy.int16,
            numpy.datetime64,
            numpy.timedelta64,
        ),
    ]
    for row in rows:
        for value, kind in zip(vars(row).values(), kinds, strict=False):
            if not isinstance(value, kind):
                raise TypeError(f"{value!r} is no {kind.__name__}")
        for inside, kind in (
            (row.kept["value"], Corner),
            *((b, Box) for b in row.boxes.items),
        ):
            if not isinstance(inside, kind):
                raise TypeError(f"{inside!r} is no {kind.__name__}")
    return rows


@tool
def paid(money: Money, cents: int = 0) -> Money:
    return Money(money.cents - cents)


@tool
def boxes(count: int) -> Iterator[Box]:
    for number in range(count):
        yield Box(Corner(number, 0.5), Colour.RED, {Colour.GREEN: Size.LARGE})


@tool(input=Shape)
def edges() -> Decimal:
    return sum((shape.outer_edge for shape in current_call().input), Decimal())


@tool
def asked(wait: timedelta) -> Any:
    return current_call().host("ask", {"wait": wait, "who": Corner(1, 2)})


@tool
def sent(value: Any) -> str:
    return repr(value)
