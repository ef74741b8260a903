"""Checks of numpy's scalars, which are made from values that equal them."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from typing import Any

from snakepit_bridge.tools.annotations.check import Check, Within
from snakepit_bridge.tools.annotations.decoded import DecodedCheck
from snakepit_bridge.values.no_image import shown
from snakepit_bridge.values.numpy_image import imported_numpy

__all__ = ["scalar_check"]

# By the class above them: what is sent for them, and what an abstract class stands for.
# A timedelta64 is an integer for numpy.
_SENT: dict[str, tuple[Any, str]] = {
    "bool_": (bool, "bool_"),
    "timedelta64": (timedelta, "timedelta64"),
    "datetime64": (date | datetime, "datetime64"),
    "integer": (int, "int64"),
    "floating": (float, "float64"),
    "complexfloating": (complex, "complex128"),
    "str_": (str, "str_"),
    "bytes_": (bytes, "bytes_"),
}


def scalar_check(kind: type, within: Within) -> Check | None:
    """Returns the check of a class of numpy's scalars; None for any other class."""
    numpy = imported_numpy()
    if numpy is None or not issubclass(kind, numpy.generic):
        return None
    for name, (sent, concrete) in _SENT.items():
        if issubclass(kind, getattr(numpy, name)):
            inner = within.compile(sent, within)
            if within.answered:
                return inner
            is_concrete = kind in numpy.sctypeDict.values()
            make = kind if is_concrete else getattr(numpy, concrete)
            return DecodedCheck(kind, inner, _maker(make))
    return None


def _maker(kind: Any) -> Any:
    def make(value: Any) -> Any:
        if isinstance(value, datetime) and value.tzinfo is not None:
            value = value.astimezone(timezone.utc).replace(tzinfo=None)
        numpy = imported_numpy()
        with numpy.errstate(over="ignore"):
            made = kind(value)
        # A large integer or duration would silently become another one.
        exact = type(value) in (int, timedelta)
        is_other = made.item() != value if exact else False
        if is_other or (type(value) is float and math.isinf(made) > math.isinf(value)):
            written = value if isinstance(value, timedelta) else shown(value)
            raise ValueError(f"{written} is outside its range")
        return made

    return make
