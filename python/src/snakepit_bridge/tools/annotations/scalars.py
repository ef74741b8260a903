"""Checks of what has no parts."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from snakepit_bridge.tools.annotations.check import (
    Check,
    Definitions,
    Mismatch,
    Schema,
    type_name,
)
from snakepit_bridge.values.no_image import Path

__all__ = [
    "BytesCheck",
    "DateCheck",
    "FloatCheck",
    "LiteralCheck",
    "NoneCheck",
    "ScalarCheck",
    "bool_check",
    "datetime_check",
    "int_check",
    "str_check",
]


class ScalarCheck(Check):
    """A type whose own instances pass, and nothing else; a bool is no int."""

    def __init__(self, kind: type, schema: Schema) -> None:
        self.kind = kind
        self._schema = schema
        self.expected = kind.__name__
        self.exact = frozenset({kind})

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is self.kind:
            return value
        raise self.mismatch(value, path)

    def schema(self, definitions: Definitions) -> Schema:
        return dict(self._schema)


def int_check() -> Check:
    """`int`."""
    return ScalarCheck(int, {"type": "integer"})


def str_check() -> Check:
    """`str`."""
    return ScalarCheck(str, {"type": "string"})


def bool_check() -> Check:
    """`bool`."""
    return ScalarCheck(bool, {"type": "boolean"})


def datetime_check() -> Check:
    """`datetime`, with a zone or without."""
    return ScalarCheck(datetime, {"type": "string", "format": "date-time"})


class DateCheck(ScalarCheck):
    """`date`, which a datetime is not here."""

    def __init__(self) -> None:
        super().__init__(date, {"type": "string", "format": "date"})


class NoneCheck(Check):
    """`None`."""

    expected = "None"
    exact = frozenset({type(None)})

    def check(self, value: Any, path: Path) -> Any:
        if value is None:
            return None
        raise self.mismatch(value, path)

    def schema(self, definitions: Definitions) -> Schema:
        return {"type": "null"}


class FloatCheck(Check):
    """`float`; an int becomes one, for the host may have no other way to send it."""

    expected = "float"
    exact = frozenset({float})

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is float:
            return value
        if type(value) is int:
            try:
                return float(value)
            except OverflowError:
                raise Mismatch(path, "float", "an int beyond its range") from None
        raise self.mismatch(value, path)

    def schema(self, definitions: Definitions) -> Schema:
        return {"type": "number"}


class BytesCheck(Check):
    """`bytes`, `bytearray` and `memoryview`, made of the bytes that arrive."""

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self.expected = kind.__name__
        self.exact = frozenset({bytes}) if kind is bytes else frozenset()

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is bytes:
            return value if self._kind is bytes else self._kind(value)
        raise self.mismatch(value, path)

    def schema(self, definitions: Definitions) -> Schema:
        return {"type": "string", "contentEncoding": "base64"}


class LiteralCheck(Check):
    """`Literal[...]`: one of these values, of the same type."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values
        self.expected = "one of " + ", ".join(map(repr, values))

    def check(self, value: Any, path: Path) -> Any:
        for allowed in self.values:
            if type(value) is type(allowed) and value == allowed:
                return value
        got = repr(value) if isinstance(value, (str, int)) else type_name(value)
        raise Mismatch(path, self.expected, got[:200])

    def schema(self, definitions: Definitions) -> Schema:
        return {"enum": list(self.values)}
