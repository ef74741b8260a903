"""Checks of types of the standard library that are sent as others."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from datetime import time, timedelta
from typing import Any

from snakepit_bridge.own_imports import loaded
from snakepit_bridge.tools.annotations.check import (
    Check,
    Mismatch,
    Schema,
    SchemaDefinitions,
    Unsupported,
    type_name,
)
from snakepit_bridge.tools.annotations.containers import ConditionUnmet
from snakepit_bridge.tools.annotations.leaves import one_of
from snakepit_bridge.tools.annotations.moment_texts import FORMS, read_time
from snakepit_bridge.values.durations import read_duration
from snakepit_bridge.values.value_not_transferable import Path, key_part, shown

_LITERALS = (str, int, float, bool, type(None))


class WrittenCheck(Check):
    """A type that TypeScript has no type for.

    Attributes:
        sent: the members of the union that TypeScript sends.
        received: those of the union that it receives.
    """

    sent: Sequence[str]
    received: Sequence[str]

    def __init__(self, kind: type, schema: Schema, *samples: Any) -> None:
        self.expected = kind.__name__
        self.samples = samples
        self._schema = schema

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        return dict(self._schema)


class TextCheck(WrittenCheck):
    """A type that is sent as text.

    Args:
        read: makes a value of the text.
        form: what the text looks like.
    """

    sent: Sequence[str] = ("string",)
    received = ("string",)

    def __init__(
        self,
        kind: type,
        read: Callable[[Any], Any],
        form: str,
        schema: Schema,
        *samples: Any,
    ) -> None:
        super().__init__(kind, {"type": "string", **schema}, *samples)
        self._read = read
        self._form = f"{kind.__name__} as text ({form})"

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is not str:
            raise Mismatch(path, self._form, type_name(value))
        try:
            return self._read(value)
        # decimal's own error is an ArithmeticError.
        except (ValueError, ArithmeticError):
            raise ConditionUnmet(path, self._form, "other text") from None


class DecimalCheck(TextCheck):
    """`Decimal`: exact from text or an integer, otherwise from the digits that
    JavaScript shows.
    """

    sent = ("string", "number", "bigint")

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is int:
            return self._read(value)
        return super().check(str(value) if type(value) is float else value, path)


class EnumCheck(WrittenCheck):
    """An `Enum`: the value of a member, of the same type.

    Attributes:
        values: those of all members.
    """

    def __init__(self, kind: type[enum.Enum]) -> None:
        self.values = [member.value for member in kind]
        super().__init__(kind, one_of(self.values), *kind)
        others = [v for v in self.values if type(v) not in _LITERALS]
        if others:
            raise Unsupported(
                f"the enum {kind.__name__} has members whose values are no text, number "
                f"or truth value, such as {others[0]!r:.80}; declare a @decoder for it"
            )
        self._kind = kind
        self._members = {(type(m.value), m.value): m for m in kind}
        # A class can also find members by other values.
        self._finds = getattr(kind._missing_, "__func__", None) is not getattr(
            enum.Enum._missing_, "__func__", None
        )
        self._texts = ", ".join(map(shown, self.values))

    def check(self, value: Any, path: Path) -> Any:
        if type(value) in _LITERALS:
            member = self._members.get((type(value), value))
            if member is None and type(value) is int:
                # The host may have no other way to send a float.
                member = self._members.get((float, value))
            if member is None and self._finds:
                member = self._found(value)
            if member is not None:
                return member
        got = shown(value) if isinstance(value, (str, int)) else type_name(value)
        expected = f"{self.expected} (one of {self._texts})"
        is_near = type(value) in map(type, self.values)
        raise (ConditionUnmet if is_near else Mismatch)(path, expected, got[:200])

    def _found(self, value: Any) -> Any:
        try:
            return self._kind(value)
        except ValueError:
            return None


class FlagCheck(WrittenCheck):
    """A `Flag`: the number that its members add up to."""

    sent = received = ("number",)

    def __init__(self, kind: type[enum.Flag]) -> None:
        super().__init__(kind, {"type": "integer"}, kind(0))
        self._kind = kind

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is not int:
            raise Mismatch(path, f"{self.expected} as an int", type_name(value))
        try:
            return self._kind(value)
        except ValueError:
            raise Mismatch(path, f"flags of {self.expected}", shown(value)) from None


class ComplexCheck(WrittenCheck):
    """`complex`: an object of its parts, or a number."""

    sent = ("{ re: number; im: number }", "number")
    received = ("{ re: number; im: number }",)

    def check(self, value: Any, path: Path) -> Any:
        if type(value) in (int, float):
            return complex(value)
        parts = _parts(value, {"re", "im"}, {"re", "im"}, (int, float), path, "complex")
        return complex(parts["re"], parts["im"])


class RangeCheck(WrittenCheck):
    """`range`: an object of its bounds and its step."""

    sent = ("{ start?: number; stop: number; step?: number }",)
    received = ("{ start: number; stop: number; step: number }",)

    def check(self, value: Any, path: Path) -> Any:
        names = {"start", "stop", "step"}
        parts = _parts(value, names, {"stop"}, (int,), path, "range")
        if parts.get("step", 1) == 0:
            raise Mismatch((path, ".step"), "an int other than 0", "0")
        return range(parts.get("start", 0), parts["stop"], parts.get("step", 1))


def _parts(
    value: Any,
    names: set[str],
    required: set[str],
    kinds: tuple[type, ...],
    path: Path,
    expected: str,
) -> dict[str, Any]:
    """Returns an object with numbers under some of these names."""
    if type(value) is not dict or not required <= value.keys() <= names:
        keys = ", ".join(sorted(names))
        got = type_name(value)
        raise Mismatch(path, f"{expected} (an object with {keys})", got)
    for name, part in value.items():
        if type(part) not in kinds:
            kind = " or ".join(kind.__name__ for kind in kinds)
            raise Mismatch((path, key_part(name)), kind, type_name(part))
    return value


def _object(required: Sequence[str], *others: str, kind: str) -> Schema:
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name in (*required, *others)},
        "required": list(required),
        "additionalProperties": False,
    }


def standard_check(kind: type) -> Check | None:
    """Returns the check of a class of the standard library, of an enum or a kind of path.

    Raises:
        Unsupported: no value that can cross is a member of the enum.
    """
    if issubclass(kind, enum.Enum):
        return FlagCheck(kind) if issubclass(kind, enum.Flag) else EnumCheck(kind)
    if kind is complex:
        schema = _object(["re", "im"], kind="number")
        return ComplexCheck(kind, {"anyOf": [schema, {"type": "number"}]}, 1j)
    if kind is range:
        schema = _object(["stop"], "start", "step", kind="integer")
        return RangeCheck(kind, schema, range(1))
    if kind is time:
        form = {"format": "time"}
        return TextCheck(kind, read_time, FORMS[kind], form, time(), time())
    if kind is timedelta:
        form = {"format": "duration"}
        zero = timedelta()
        return TextCheck(kind, read_duration, "ISO 8601: P1DT2H0.5S", form, zero)
    return _of_module(kind)


def _of_module(kind: Any) -> Check | None:
    """Returns the check of a class of a module that is not imported here."""
    pathlib = loaded("pathlib")
    if pathlib is not None and issubclass(kind, pathlib.PurePath):
        return TextCheck(kind, kind, "a path", {}, kind())
    name = f"{kind.__module__}.{kind.__qualname__}"
    if name == "decimal.Decimal":
        return DecimalCheck(kind, kind, "digits: 12.50", {}, kind(1))
    if name == "uuid.UUID":
        schema = {"format": "uuid"}
        return TextCheck(kind, kind, "hexadecimal digits", schema, kind(int=0))
    if name.startswith("ipaddress.IPv"):
        return TextCheck(kind, kind, "an address", {})
    return None
