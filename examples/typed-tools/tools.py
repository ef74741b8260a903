"""An order desk: tools whose arguments and results are models of pydantic."""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, computed_field
from pydantic.alias_generators import to_camel
from snakepit_bridge import tool


class Model(BaseModel):
    # `wanted_on` is `wantedOn` in TypeScript; a property that is not known is an error.
    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, extra="forbid"
    )


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Product(Model):
    name: str
    size: Size
    price: Decimal


class Line(Model):
    product: str
    quantity: int = Field(default=1, ge=1, le=100)


class Card(Model):
    kind: Literal["card"]
    number: str = Field(pattern=r"^\d{16}$")


class Invoice(Model):
    kind: Literal["invoice"]
    payable_within: timedelta = timedelta(days=14)


class Order(Model):
    """What a customer wants."""

    id: UUID
    lines: list[Line] = Field(min_length=1)
    payment: Annotated[Card | Invoice, Field(discriminator="kind")]
    wanted_on: date | None = None


class Quote(Model):
    order_id: UUID
    net: Decimal
    delivery: timedelta

    @computed_field
    @property
    def gross(self) -> Decimal:
        return (self.net * Decimal("1.19")).quantize(Decimal("0.01"))


PRODUCTS = [
    Product(name="cup", size=Size.SMALL, price=Decimal("4.50")),
    Product(name="pot", size=Size.LARGE, price=Decimal("29.90")),
]
PRICES = {product.name: product.price for product in PRODUCTS}


@tool
def quote(order: Order) -> Quote:
    """Says what an order costs, and how long it takes."""
    net = sum((PRICES[line.product] * line.quantity for line in order.lines), Decimal())
    days = 1 if isinstance(order.payment, Card) else 3
    return Quote(order_id=order.id, net=net, delivery=timedelta(days=days))


@tool
def products(size: Size | None = None) -> Iterator[Product]:
    """Yields the products of a size, or all."""
    yield from (p for p in PRODUCTS if size in (None, p.size))
