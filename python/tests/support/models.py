"""Models of pydantic."""

from __future__ import annotations

import enum
from collections import deque
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar
from uuid import UUID

import numpy
import pydantic
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from typing_extensions import Self

T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"


class Address(BaseModel):
    """Where somebody lives."""

    street: str = Field(min_length=1)
    number: int = Field(gt=0, description="of the house")


class User(BaseModel):
    name: Annotated[str, pydantic.AfterValidator(str.title)]
    age: int = Field(ge=0, le=150)
    address: Address | None = None
    tags: set[str] = set()

    @pydantic.field_validator("name")
    @classmethod
    def not_nobody(cls, name: str) -> str:
        if name == "Nobody":
            raise ValueError("nobody has that name")
        return name

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def initial(self) -> str:
        return self.name[0]


class Everything(BaseModel):
    colour: Colour
    price: Decimal
    id: UUID
    path: Path
    wait: timedelta
    at: time
    day: date
    moment: datetime
    data: bytes
    pair: tuple[int, str]
    queue: deque[int]
    numbers: dict[str, float]
    site: pydantic.AnyHttpUrl


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")

    first_name: str
    last_name: str = ""


class Booking(BaseModel):
    made: pydantic.AwareDatetime
    day: pydantic.PastDate
    before: Self | None = None


class Node(BaseModel):
    value: int
    children: list[Node] = []


class Page(BaseModel, Generic[T]):
    items: list[T]


class Names(pydantic.RootModel[list[str]]):
    pass


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    tricks: list[str]


class Holder(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    array: numpy.ndarray[Any, Any]


class Secret(BaseModel):
    password: pydantic.SecretStr


@pydantic.dataclasses.dataclass
class Place:
    x: int = Field(gt=0)
    y: int = 0


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]
