"""Conditions on a value beyond its type, as the metadata of `Annotated` states them."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from snakepit_bridge.tools.annotations.check import Schema
from snakepit_bridge.values.no_image import has_digits, shown

__all__ = [
    "BOUNDS",
    "Bound",
    "Constraint",
    "Finite",
    "Length",
    "MultipleOf",
    "Pattern",
    "Predicate",
    "Zone",
]

# How each bound compares, how it is written, and its keyword in JSON schema.
BOUNDS: dict[str, tuple[Callable[[Any, Any], Any], str, str]] = {
    "gt": (operator.gt, ">", "exclusiveMinimum"),
    "ge": (operator.ge, ">=", "minimum"),
    "lt": (operator.lt, "<", "exclusiveMaximum"),
    "le": (operator.le, "<=", "maximum"),
}
# By the type in JSON schema: the keywords for the least and the largest length.
_LENGTHS = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
# The relative error of a float's remainder, because 0.3 % 0.1 is not 0.
_TOLERANCE = 1e-9


class Constraint:
    """One condition.

    Attributes:
        written: the condition as a person would write it: `> 0`.
    """

    written: str

    def holds(self, value: Any) -> bool:
        """Returns whether a value meets the condition.

        Raises:
            TypeError: the condition does not apply to a value of this type.
        """
        raise NotImplementedError

    def suits(self, sample: Any) -> bool:
        """Returns whether the condition applies to values like this one."""
        try:
            self.holds(sample)
        except TypeError:
            return False
        return True

    def keywords(self, schema: Schema) -> Schema:
        """Returns what the condition adds to the JSON schema of the type, if anything."""
        return {}


class Bound(Constraint):
    """A lower or upper bound.

    Args:
        name: a key of `BOUNDS`.
        limit: what values are compared with.
    """

    def __init__(self, name: str, limit: Any) -> None:
        self._compare, sign, self._keyword = BOUNDS[name]
        self._limit = limit
        self.written = f"{sign} {_text(limit)}"

    def holds(self, value: Any) -> bool:
        return bool(self._compare(value, self._limit))

    def keywords(self, schema: Schema) -> Schema:
        is_number = _is_number(self._limit)
        return {self._keyword: self._limit} if is_number else {}


class MultipleOf(Constraint):
    """A multiple of a number; a float may be off by a billionth of itself."""

    def __init__(self, divisor: float) -> None:
        self._divisor = divisor
        self.written = f"multiple of {_text(divisor)}"

    def holds(self, value: Any) -> bool:
        rest = value % self._divisor
        if isinstance(rest, int):
            return rest == 0
        off = min(abs(rest), abs(abs(rest) - abs(self._divisor)))
        return bool(off <= abs(value) * _TOLERANCE)

    def keywords(self, schema: Schema) -> Schema:
        return {"multipleOf": abs(self._divisor)} if _is_number(self._divisor) else {}


class Length(Constraint):
    """A bound of the length: code points of text, otherwise bytes or items.

    Args:
        name: `ge` or `le`.
        limit: the least or the most.
    """

    def __init__(self, name: str, limit: int) -> None:
        self._is_least = name == "ge"
        self._limit = limit
        self.written = f"length {BOUNDS[name][1]} {limit}"

    def holds(self, value: Any) -> bool:
        return (
            len(value) >= self._limit if self._is_least else len(value) <= self._limit
        )

    def keywords(self, schema: Schema) -> Schema:
        # Bytes are base64 in JSON and arrays are objects: their length differs there.
        if "contentEncoding" in schema or "$ndarray" in schema.get("properties", {}):
            return {}
        kind = _LENGTHS.get(schema.get("type", ""))
        return {} if kind is None else {kind[0 if self._is_least else 1]: self._limit}


class Pattern(Constraint):
    """A Python regular expression that must be found somewhere in the text."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self.written = f"matching {pattern.pattern!r:.80}"

    def holds(self, value: Any) -> bool:
        return self._pattern.search(value) is not None

    def keywords(self, schema: Schema) -> Schema:
        plain = self._pattern.flags == re.UNICODE
        return {"pattern": self._pattern.pattern} if plain else {}


class Finite(Constraint):
    """A number that is neither NaN nor infinite."""

    written = "finite"

    def holds(self, value: Any) -> bool:
        return isinstance(value, int) or math.isfinite(value)


class Zone(Constraint):
    """A datetime with a zone, which arrives in UTC, or without one."""

    def __init__(self, *, aware: bool) -> None:
        self._aware = aware
        self.written = "with a zone" if aware else "without a zone"

    def holds(self, value: Any) -> bool:
        if not isinstance(value, datetime):
            raise TypeError("not a datetime")
        return (value.tzinfo is not None) is self._aware


class Predicate(Constraint):
    """A function of the tools' author that decides whether a value passes.

    Args:
        function: called with each value.
        name: the function's name.
    """

    def __init__(self, function: Callable[[Any], Any], name: str) -> None:
        self._function = function
        self.written = f"where {name}"

    def holds(self, value: Any) -> bool:
        return bool(self._function(value))

    def suits(self, sample: Any) -> bool:
        return True


def _is_number(value: object) -> bool:
    # JSON has neither NaN nor infinities, nor integers that Python does not write.
    if type(value) is float:
        return math.isfinite(value)
    return type(value) is int and has_digits(value)


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else shown(value)[:80]
