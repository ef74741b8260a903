"""Conditions on a value beyond its type, as the metadata of `Annotated` states them,
whichever library it comes from.
"""

from __future__ import annotations

import inspect
import math
import operator
import re
import sys
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from snakepit_bridge.tools.annotations.check import (
    Check,
    Schema,
    SchemaDefinitions,
    type_name,
)
from snakepit_bridge.tools.annotations.containers import ConditionUnmet, UnionCheck
from snakepit_bridge.tools.annotations.leaves import SCALARS
from snakepit_bridge.values.value_not_transferable import Path, has_digits, shown

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
        is_default = self._pattern.flags == re.UNICODE
        return {"pattern": self._pattern.pattern} if is_default else {}


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


# Attributes that constrain values and are not supported.
_NOT_HONOURED = (
    *("const", "decimal_places", "max", "max_digits", "max_items", "min", "min_items"),
    *("regex", "strip_whitespace", "to_lower", "to_upper", "unique_items"),
)
# The same, for attributes that are functions.
_ASKING = ("is_valid", "validate", "validator", "validators")
# Attributes that do not constrain. `strict` always holds: no value is taken for one of
# another type.
_HARMLESS = ("allow_inf_nan", "fail_fast", "strict", "union_mode", "unit")
# Metadata of pydantic that has its own code.
_PYDANTIC_CODE = ("__get_pydantic_core_schema__", "__get_validators__")
_GROUPED = "__is_annotated_types_grouped_metadata__"


class Uncheckable(Exception):
    """Metadata has a constraint that cannot be checked."""


def constraints_of(item: object) -> Iterator[Constraint]:
    """Yields the constraints of one piece of metadata; none where it only describes.

    Raises:
        Uncheckable: it has a constraint that cannot be checked.
    """
    if isinstance(item, type):
        _refuse_class(item)
        return
    if _has(item, _GROUPED):
        for part in item:  # type: ignore[attr-defined] # its protocol
            yield from constraints_of(part)
        return
    parts = _value(item, "metadata")
    if isinstance(parts, (list, tuple)):
        # The `Field` of pydantic, and of libraries that extend it.
        for part in parts:
            yield from constraints_of(part)
    if _is_of(item, "Predicate"):
        yield _predicate(item)
    elif _is_of(item, "Timezone") or _is_msgspec_meta(item):
        yield from _zone(item)
        yield from _by_names(item)
    else:
        _refuse_unknown(item)
        yield from _by_names(item)


def _by_names(item: object) -> Iterator[Constraint]:
    for name in BOUNDS:
        limit = _value(item, name)
        if limit is not None:
            yield Bound(name, limit)
    divisor = _value(item, "multiple_of")
    if divisor is not None:
        if type(divisor) not in (int, float) or divisor == 0:
            raise Uncheckable(f"{divisor!r} is not a divisor")
        yield MultipleOf(divisor)
    for name, bound in (("min_length", "ge"), ("max_length", "le")):
        length = _value(item, name)
        if length is not None:
            if type(length) is not int:
                raise Uncheckable(f"{length!r} is not a length")
            yield Length(bound, length)
    pattern = _value(item, "pattern")
    if pattern is not None:
        yield _pattern(pattern)
    if _value(item, "allow_inf_nan") is False:
        yield Finite()


def _pattern(pattern: Any) -> Constraint:
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        problem = f"{pattern!r:.80} is not a Python regular expression: {error}"
        raise Uncheckable(problem) from None
    if not isinstance(compiled.pattern, str):
        raise Uncheckable("its regular expression is for bytes")
    return Pattern(compiled)


def _predicate(item: Any) -> Constraint:
    function: Callable[[Any], Any] = item.func
    negated = getattr(function, "func", None) if _is_of(function, "Not") else None
    named = function if negated is None else negated
    name = getattr(named, "__qualname__", None) or f"{named!r:.80}"
    return Predicate(function, name if negated is None else f"not {name}")


def _zone(item: Any) -> Iterator[Constraint]:
    zone = item.tz
    # None means nothing to msgspec, and "no zone" to annotated_types.
    if zone is None and _is_msgspec_meta(item):
        return
    if zone is None or zone is False:
        yield Zone(aware=False)
    elif zone is True or zone is ... or _is_utc(zone):
        yield Zone(aware=True)
    else:
        raise Uncheckable(f"a datetime with a zone arrives in UTC, not in {zone!r:.80}")


def _is_utc(zone: object) -> bool:
    if isinstance(zone, tzinfo):
        return str(zone) == "UTC" and zone.utcoffset(None) in (None, timedelta(0))
    return isinstance(zone, str) and zone.upper() == "UTC"


def _refuse_class(kind: type) -> None:
    base = _class("BaseMetadata")
    if (base is not None and issubclass(kind, base)) or _GROUPED in dir(kind):
        raise Uncheckable("it is a class; use an instance of it")


def _refuse_unknown(item: object) -> None:
    for name in _NOT_HONOURED:
        if _value(item, name):
            raise Uncheckable(f"{name} is not supported")
    for name in _ASKING:
        if _has(item, name) and getattr(item, name, None):
            raise Uncheckable(f"its {name} is not called")
    known = (*BOUNDS, *_HARMLESS, "multiple_of", "min_length", "max_length", "pattern")
    if any(_has(item, name) for name in (*known, *_NOT_HONOURED)):
        return
    base = _class("BaseMetadata")
    constrains = base is not None and isinstance(item, base)
    if constrains or any(_has(item, name) for name in _PYDANTIC_CODE):
        raise Uncheckable("its kind is unknown")


def _value(item: object, name: str) -> Any:
    """Returns the value of an attribute; None if there is none, or it is a method."""
    if not _has(item, name):
        return None
    value = getattr(item, name, None)
    return None if callable(value) else value


def _has(item: object, name: str) -> bool:
    # Some objects return a value for every name: only attributes that exist count.
    return inspect.getattr_static(item, name, None) is not None


def _class(name: str) -> type | None:
    return getattr(sys.modules.get("annotated_types"), name, None)


def _is_of(item: object, name: str) -> bool:
    kind = _class(name)
    return kind is not None and isinstance(item, kind)


def _is_msgspec_meta(item: object) -> bool:
    kind = getattr(sys.modules.get("msgspec"), "Meta", None)
    return kind is not None and isinstance(item, kind)
