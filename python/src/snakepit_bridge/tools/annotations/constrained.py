"""Checks of a type and of constraints on its values."""

from __future__ import annotations

from datetime import date
from typing import Any

from snakepit_bridge.tools.annotations.check import Check, Schema, type_name
from snakepit_bridge.tools.annotations.constraints import Constraint
from snakepit_bridge.tools.annotations.leaves import SCALARS
from snakepit_bridge.tools.annotations.named import SchemaDefinitions
from snakepit_bridge.tools.annotations.unions import ConditionUnmet, UnionCheck
from snakepit_bridge.values.no_image import Path

__all__ = ["ConstrainedCheck", "Unsuited", "constrained"]

_MAX_DIGITS = 40


class Unsuited(Exception):
    """A constraint has no meaning for the values of a type."""


class ConstrainedCheck(Check):
    """`Annotated[X, ...]`: a value that passes as an X and meets every constraint.

    Attributes:
        inner: the check of the type alone.
    """

    def __init__(self, inner: Check, constraints: tuple[Constraint, ...]) -> None:
        self.inner = inner
        self.parts = (inner,)
        self.constraints = constraints
        conditions = ", ".join(constraint.written for constraint in constraints)
        self.expected = f"{inner.expected} ({conditions})"

    def check(self, value: Any, path: Path) -> Any:
        checked = self.inner.check(value, path)
        for constraint in self.constraints:
            try:
                holds = constraint.holds(checked)
            except Exception as error:  # noqa: BLE001 - a predicate may raise anything
                got = f"{_shown(checked)}, for which {constraint.written} fails"
                problem = f"{got}: {type(error).__name__}: {error}"
                raise ConditionUnmet(path, self.expected, problem) from None
            if not holds:
                raise ConditionUnmet(path, self.expected, _shown(checked))
        return checked

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        schema = self.inner.schema(definitions)
        for constraint in self.constraints:
            more = constraint.keywords(schema)
            if schema.keys() & more.keys():
                # The same keyword twice: both apply.
                schema["allOf"] = [*schema.get("allOf", []), more]
            else:
                schema.update(more)
        return schema


def constrained(check: Check, constraint: Constraint) -> Check:
    """Returns a check with one more constraint.

    In a union each member is constrained, except `None`.

    Raises:
        Unsuited: the constraint has no meaning for the type.
    """
    if isinstance(check, UnionCheck):
        members = [
            member if member is SCALARS[type(None)] else constrained(member, constraint)
            for member in check.members
        ]
        return UnionCheck(members)
    inner, before = check, tuple[Constraint, ...]()
    if isinstance(check, ConstrainedCheck):
        inner, before = check.inner, check.constraints
    samples = inner.samples
    if samples is not None and not any(map(constraint.suits, samples)):
        raise Unsuited(f'"{constraint.written}" does not apply to {inner.expected}')
    return ConstrainedCheck(inner, (*before, constraint))


def _shown(value: object) -> str:
    """Describes a value for a message: numbers and moments are shown. Text and bytes
    are not, because they may be secret and the error is logged.
    """
    if type(value) in (bool, float):
        return repr(value)
    if type(value) is int:
        # Python refuses to print very long ones.
        small = value.bit_length() <= _MAX_DIGITS * 3
        return repr(value) if small else f"an int of {value.bit_length()} bits"
    if isinstance(value, date):
        return value.isoformat()
    try:
        return f"{type_name(value)} of length {len(value)}"  # type: ignore[arg-type]
    except TypeError:
        return type_name(value)
