"""Reads the metadata of `Annotated` as constraints, whichever library it comes from.

No library is imported: metadata of annotated_types can only exist when its module was
imported, and other objects are read by the names of their attributes, which
annotated_types, pydantic and msgspec share.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta, tzinfo
from typing import Any

from snakepit_bridge.tools.annotations.constraints import (
    BOUNDS,
    Bound,
    Constraint,
    Finite,
    Length,
    MultipleOf,
    Pattern,
    Predicate,
    Zone,
)

__all__ = ["Uncheckable", "constraints_of"]

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
