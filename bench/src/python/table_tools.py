"""Tables, and lists of times, for a host that measures how they cross."""

from datetime import datetime, timedelta, timezone
from typing import Any

import numpy
import pandas
from snakepit_bridge import tool

KEPT: dict[str, Any] = {}


@tool
def make(kind: str, count: int) -> None:
    """Makes the value that `give` returns."""
    start = datetime(2024, 1, 1, tzinfo=timezone.utc)
    times = [start + timedelta(seconds=37 * i, microseconds=i) for i in range(count)]
    if kind == "instants":
        KEPT["value"] = times
    elif kind == "dates and times":
        KEPT["value"] = [time.replace(tzinfo=None) for time in times]
    elif kind == "texts":
        KEPT["value"] = [time.isoformat() for time in times]
    else:
        KEPT["value"] = pandas.DataFrame(
            {
                "id": numpy.arange(count),
                "value": numpy.linspace(0, 1, count),
                "name": [f"name {i}" for i in range(count)],
                "at": pandas.date_range("2024-01-01", periods=count, freq="s"),
            }
        )


@tool
def give() -> Any:
    return KEPT["value"]


@tool
def give_records() -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = KEPT["value"].to_dict("records")
    return records


@tool
def take(value: list[Any]) -> int:
    return len(value)


@tool
def take_frame(value: pandas.DataFrame) -> int:
    return len(value)


@tool
def take_records(value: list[dict[str, Any]]) -> int:
    return len(pandas.DataFrame(value))
