import logging
import time
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from uuid import UUID

from snakepit_bridge import NdArray, progress, tool


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Order:
    """What a customer wants."""

    id: UUID
    price: Decimal
    due: date
    tags: set[str]
    size: Size = Size.SMALL


@tool
def mean(numbers: list[float]) -> float:
    """The arithmetic mean."""
    return sum(numbers) / len(numbers)


@tool
def described(name: str) -> dict:
    return {"name": name, "length": len(name), "large": 2**70}


@tool
def size(data: bytes, at: datetime) -> str:
    return f"{len(data)} bytes at {at.isoformat()}"


@tool
def shape(array: NdArray) -> str:
    return f"{array.dtype} {array.shape} {array.data.hex()}"


@tool
def ordered(order: Order, wait: timedelta = timedelta(days=1)) -> Order:
    order.price *= 2
    order.due += wait
    return order


@tool
def countdown(start: int):
    yield from range(start, 0, -1)
    return "done"


@tool
def steps(fifo: str):
    """Goes on when something was written to the FIFO."""
    for step in ("one", "two"):
        yield step
        with open(fifo) as source:
            source.read()


@tool
def stages(fifo: str) -> str:
    """Goes on when something was written to the FIFO."""
    for fraction, message in ((0.5, "half"), (None, "unknown"), (0.9, "nearly")):
        progress(fraction, message)
        with open(fifo) as source:
            source.read()
    return "done"


@tool
def fails(message: str) -> None:
    print("on standard output")
    raise ValueError(message)


@tool
def logs(message: str) -> None:
    logging.getLogger("tools").warning(message)


@tool
def waits() -> None:
    logging.getLogger("tools").warning("waiting")
    try:
        time.sleep(3600)
    finally:
        logging.getLogger("tools").warning("cancelled")


@tool
def reads(items) -> int:
    return 0
