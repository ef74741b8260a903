"""Dataclasses, named tuples, attrs and structs of msgspec that tests send."""

from __future__ import annotations

import collections
import enum
from dataclasses import InitVar, dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, ClassVar, Generic, NamedTuple, TypeVar

import annotated_types as at
import attrs
import msgspec
from typing_extensions import NotRequired, Self, TypedDict

T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    """A place."""

    x: float
    y: float = 0.0
    colour: Colour | None = None


@dataclass(frozen=True, slots=True)
class Line:
    ends: tuple[Point, Point]
    tags: list[str] = field(default_factory=list)


@dataclass
class Account:
    kind: ClassVar[str] = "account"
    owner: Annotated[str, at.MinLen(1)]
    opening: InitVar[Decimal]
    balance: Decimal = field(init=False)

    def __post_init__(self, opening: Decimal) -> None:
        if opening < 0:
            raise ValueError("an account begins with nothing or more")
        self.balance = opening


@dataclass
class Tree:
    name: str
    children: list[Tree] = field(default_factory=list)


@dataclass
class Page(Generic[T]):
    items: list[T]
    following: T | None = None


@dataclass
class Growing(Generic[T]):
    inside: Growing[list[T]] | None = None


@dataclass
class Points(Page[Point]):
    name: str = ""


@dataclass
class Pages(Page[list[T]], Generic[T]):
    first: T | None = None


class Kept(TypedDict, Generic[T]):
    value: T
    past: NotRequired[list[T]]


class KeptPoint(Kept[Point]):
    note: str


@dataclass
class Chain:
    value: int
    rest: Self | None = None


class Size(NamedTuple):
    width: int
    height: int = 1


Untyped = collections.namedtuple("Untyped", "left right")


@attrs.define
class Job:
    name: str = attrs.field(validator=attrs.validators.max_len(3))
    wait: timedelta = timedelta(0)
    _secret: int = 7
    priority: int = attrs.field(default=0, converter=int)


class Circle(msgspec.Struct, tag=True, rename="camel"):
    outer_radius: Annotated[float, msgspec.Meta(gt=0)]
    label: str | msgspec.UnsetType = msgspec.UNSET


class Square(msgspec.Struct, tag=True):
    side: float
