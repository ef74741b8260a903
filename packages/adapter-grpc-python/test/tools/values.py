"""What Python makes of values, and values that only Python makes."""

from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy
from snakepit_bridge import NdArray, tool

NAMES = {
    "NdArray": NdArray,
    "date": date,
    "datetime": lambda *fields: datetime(
        *(timezone.utc if field == "utc" else field for field in fields)
    ),
    "timedelta": timedelta,
    "timezone": timezone,
    "numpy": numpy,
    "utc": "utc",
}


@tool
def echo(value: Any) -> Any:
    return value


@tool
def seen(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"


@tool
def evaluated(expression: str) -> Any:
    return eval(expression, NAMES)
