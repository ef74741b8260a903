"""Checks of a type together with the constraints on its values."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

from snakepit_bridge.tools.annotations.arrays import ArrayCheck, NdArrayCheck
from snakepit_bridge.tools.annotations.check import (
    Check,
    Definitions,
    Schema,
    type_name,
)
from snakepit_bridge.tools.annotations.constraints import Constraint
from snakepit_bridge.tools.annotations.containers import (
    DictCheck,
    ListCheck,
    SetCheck,
    TupleCheck,
    VariadicTupleCheck,
)
from snakepit_bridge.tools.annotations.scalars import (
    BytesCheck,
    FloatCheck,
    LiteralCheck,
    NoneCheck,
    ScalarCheck,
)
from snakepit_bridge.tools.annotations.typed_dict import TypedDictCheck
from snakepit_bridge.tools.annotations.unions import ConditionUnmet, UnionCheck
from snakepit_bridge.values.no_image import Path

__all__ = ["ConstrainedCheck", "Unsuited", "constrained"]

_MAX_DIGITS = 40


class Unsuited(Exception):
    """A constraint has no meaning for the values of a type."""


class ConstrainedCheck(Check):
    """`Annotated[X, ...]`: what passes as an X, and meets every constraint.

    Attributes:
        inner: the check of the type alone.
    """

    def __init__(self, inner: Check, constraints: tuple[Constraint, ...]) -> None:
        self.inner = inner
        self.constraints = constraints
        conditions = ", ".join(constraint.written for constraint in constraints)
        self.expected = f"{inner.expected} ({conditions})"

    def check(self, value: Any, path: Path) -> Any:
        checked = self.inner.check(value, path)
        for constraint in self.constraints:
            try:
                holds = constraint.holds(checked)
            except Exception as error:  # noqa: BLE001 - a predicate may raise anything
                got = (
                    f"{_shown(checked)}, of which {constraint.written} cannot be asked"
                )
                problem = f"{got}: {type(error).__name__}: {error}"
                raise ConditionUnmet(path, self.expected, problem) from None
            if not holds:
                raise ConditionUnmet(path, self.expected, _shown(checked))
        return checked

    def schema(self, definitions: Definitions) -> Schema:
        schema = self.inner.schema(definitions)
        for constraint in self.constraints:
            more = constraint.keywords(schema)
            if schema.keys() & more.keys():
                # The same keyword twice: both count.
                schema["allOf"] = [*schema.get("allOf", []), more]
            else:
                schema.update(more)
        return schema


def constrained(check: Check, constraint: Constraint) -> Check:
    """Returns a check with one more constraint.

    Of a union, each member is constrained; `None` as a member of one passes as it is.

    Raises:
        Unsuited: no value of the type can be asked for it.
    """
    if isinstance(check, UnionCheck):
        members = [
            member if isinstance(member, NoneCheck) else constrained(member, constraint)
            for member in check.members
        ]
        return UnionCheck(members)
    inner, before = check, tuple[Constraint, ...]()
    if isinstance(check, ConstrainedCheck):
        inner, before = check.inner, check.constraints
    samples = _samples(inner)
    if samples is not None and not any(map(constraint.suits, samples)):
        raise Unsuited(f'"{constraint.written}" cannot be asked of {inner.expected}')
    return ConstrainedCheck(inner, (*before, constraint))


class _Sized:
    """An array as far as constraints go: it has a length, and compares item by item."""

    def __len__(self) -> int:
        return 0


_SCALARS: dict[type, list[Any]] = {
    int: [1],
    str: [""],
    bool: [True],
    date: [date(2000, 1, 1)],
    datetime: [datetime(2000, 1, 1), datetime(2000, 1, 1, tzinfo=timezone.utc)],
}


def _samples(check: Check) -> list[Any] | None:
    """Returns values that pass, or behave as such; None where any type may."""
    match check:
        case ScalarCheck():
            return _SCALARS[check.kind]
        case FloatCheck():
            return [1.0]
        case BytesCheck():
            return [b""]
        case LiteralCheck():
            return list(check.values)
        case NoneCheck():
            return [None]
        case ArrayCheck() | NdArrayCheck():
            return [_Sized()]
        case ListCheck():
            return [[]]
        case TupleCheck() | VariadicTupleCheck():
            return [()]
        case SetCheck():
            return [set()]
        case DictCheck() | TypedDictCheck():
            return [{}]
        case _:
            return None


def _shown(value: object) -> str:
    """Returns a value for a message: numbers and moments as they are.

    Text and bytes are not shown, which may be secret, and go into logs with the error.
    """
    if type(value) in (bool, float):
        return repr(value)
    if type(value) is int:
        # Python refuses to write very long ones.
        small = value.bit_length() <= _MAX_DIGITS * 3
        return repr(value) if small else f"an int of {value.bit_length()} bits"
    if isinstance(value, date):
        return value.isoformat()
    try:
        return f"{type_name(value)} of length {len(value)}"  # type: ignore[arg-type]
    except TypeError:
        return type_name(value)
