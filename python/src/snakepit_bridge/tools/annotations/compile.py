"""Turns annotations into checks."""

from __future__ import annotations

import collections.abc
import sys
import types
import typing
from typing import Any, NamedTuple

from snakepit_bridge.tools.annotations.check import AnyCheck, Check
from snakepit_bridge.tools.annotations.containers import (
    DictCheck,
    SequenceCheck,
    SetCheck,
    TupleCheck,
)
from snakepit_bridge.tools.annotations.leaves import (
    SCALARS,
    ArrayCheck,
    BytesCheck,
    FloatCheck,
    LiteralCheck,
    NdArrayCheck,
)
from snakepit_bridge.tools.annotations.named import AliasCheck, TypedDictCheck
from snakepit_bridge.tools.annotations.unions import UnionCheck
from snakepit_bridge.values.nd_array import ITEM_SIZES, NdArray

__all__ = ["Unsupported", "compile_annotation"]


class Unsupported(Exception):
    """No value that can cross has this type."""


_SIMPLE: dict[Any, Check] = {
    **SCALARS,
    None: SCALARS[type(None)],
    Any: AnyCheck(),
    object: AnyCheck(),
    float: FloatCheck(),
    bytes: BytesCheck(bytes),
    bytearray: BytesCheck(bytearray),
    memoryview: BytesCheck(memoryview),
    NdArray: NdArrayCheck(),
}
_LISTS = {
    list: "list",
    collections.abc.Sequence: "Sequence",
    collections.abc.Collection: "Collection",
    collections.abc.Iterable: "Iterable",
}
_SETS = {set: set, frozenset: frozenset, collections.abc.Set: set}
_DICTS = {
    dict: "dict",
    collections.abc.Mapping: "Mapping",
    collections.abc.MutableMapping: "Mapping",
}
_LITERALS = frozenset({str, int, bool, type(None)})
# An alias can contain itself with other parameters each time, endlessly.
_GENERIC_LEVELS = 8
# Wrappers that do not change the type.
_TRANSPARENT = frozenset({"Required", "NotRequired", "ReadOnly", "Final"})


def compile_annotation(annotation: Any, *, applied: bool = True) -> Check:
    """Returns the check of an annotation whose names are resolved.

    Args:
        annotation: the annotation.
        applied: whether values will be checked. If not, the check only describes
            them, and constraints that cannot be checked are left out.

    Raises:
        Unsupported: no value that can cross has this type, or its metadata has a
            constraint that cannot be checked.
    """
    return _compile(annotation, _Within((), {}, applied))


class _Within(NamedTuple):
    """Where an annotation occurs.

    Attributes:
        aliases: the aliases around it.
        made: the checks of the typed dicts and aliases so far: one that contains
            itself is the same check again.
        applied: whether values will be checked.
    """

    aliases: tuple[Any, ...]
    made: dict[Any, Check]
    applied: bool


def _compile(annotation: Any, within: _Within) -> Check:
    try:
        simple = _SIMPLE.get(annotation)
    except TypeError:  # not hashable
        simple = None
    if simple is not None:
        return simple
    if isinstance(annotation, typing.TypeVar):
        bound = annotation.__bound__
        return AnyCheck() if bound is None else _compile(bound, within)
    if isinstance(annotation, typing.NewType):
        return _compile(annotation.__supertype__, within)
    if type(annotation).__name__ == "TypeAliasType":
        return _alias(annotation, annotation, annotation.__value__, within)
    alias = typing.get_origin(annotation)
    if type(alias).__name__ == "TypeAliasType":
        # Generic, as numpy's NDArray: its parameters are given now.
        value = alias.__value__[typing.get_args(annotation)]
        return _alias(annotation, alias, value, within)
    if _is_typed_dict(annotation):
        return _typed_dict(annotation, within)
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if origin is None:
        return _generic(annotation, (), annotation, within)
    return _generic(origin, arguments, annotation, within)


def _generic(
    origin: Any, arguments: tuple[Any, ...], annotation: Any, within: _Within
) -> Check:
    name = getattr(origin, "__name__", None) or getattr(origin, "_name", None)
    if hasattr(annotation, "__metadata__"):
        return _annotated(arguments[0], annotation.__metadata__, within)
    if name in _TRANSPARENT:
        return _compile(arguments[0], within)
    if origin is typing.Union or origin is types.UnionType:
        return UnionCheck([_compile(member, within) for member in arguments])
    if origin is typing.Literal and _LITERALS.issuperset(map(type, arguments)):
        return LiteralCheck(arguments)
    if origin is tuple:
        bare = annotation in (tuple, typing.Tuple)  # noqa: UP006 - what was written
        return SequenceCheck(AnyCheck(), "tuple") if bare else _tuple(arguments, within)
    if origin in _LISTS:
        return SequenceCheck(_part(arguments, 0, within), _LISTS[origin])
    if origin in _SETS:
        return SetCheck(_part(arguments, 0, within), _SETS[origin])
    if origin in _DICTS:
        key, item = _part(arguments, 0, within), _part(arguments, 1, within)
        return DictCheck(key, item, _DICTS[origin])
    numpy = sys.modules.get("numpy")
    if numpy is not None and origin is numpy.ndarray:
        return ArrayCheck(_dtype(arguments))
    raise Unsupported(
        f"no value that can cross is a {_written(annotation)}; {_remedy(annotation)}"
    )


def _annotated(annotation: Any, metadata: tuple[Any, ...], within: _Within) -> Check:
    # Three modules that few tools need.
    from snakepit_bridge.tools.annotations.constrained import Unsuited, constrained
    from snakepit_bridge.tools.annotations.metadata import Uncheckable, constraints_of

    check = _compile(annotation, within)
    for item in metadata:
        try:
            for constraint in constraints_of(item):
                check = constrained(check, constraint)
        except (Uncheckable, Unsuited) as error:
            if within.applied:
                raise Unsupported(
                    f"{item!r:.120} cannot be checked: {error}; use annotated_types "
                    "(Gt, Ge, Lt, Le, Interval, MultipleOf, Len, Predicate, Timezone), "
                    "or remove it and check the value in the tool"
                ) from None
    return check


def _part(arguments: tuple[Any, ...], index: int, within: _Within) -> Check:
    return _compile(arguments[index], within) if arguments else AnyCheck()


def _tuple(arguments: tuple[Any, ...], within: _Within) -> Check:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return SequenceCheck(_compile(arguments[0], within), "tuple")
    # Of `tuple[()]`, Python 3.10 has one argument and later ones have none.
    parts = () if arguments == ((),) else arguments
    return TupleCheck([_compile(part, within) for part in parts])


def _is_typed_dict(annotation: Any) -> bool:
    # By an attribute: `typing` does not know the class of typing_extensions.
    return isinstance(annotation, type) and hasattr(annotation, "__required_keys__")


def _typed_dict(annotation: Any, within: _Within) -> Check:
    if annotation in within.made:
        return within.made[annotation]
    hints = typing.get_type_hints(annotation, include_extras=True)
    required = set(annotation.__required_keys__)
    for key, hint in hints.items():
        wrapper = getattr(typing.get_origin(hint), "_name", None)
        if wrapper == "Required":
            required.add(key)
        elif wrapper == "NotRequired":
            required.discard(key)
    check = TypedDictCheck(annotation, frozenset(required))
    within.made[annotation] = check
    check.items = {key: _compile(hint, within) for key, hint in hints.items()}
    return check


def _alias(annotation: Any, alias: Any, value: Any, within: _Within) -> Check:
    """Compiles an alias, and its parameters where it is generic."""
    place = _place(annotation)
    if place in within.made:
        return within.made[place]
    if within.aliases.count(alias) >= _GENERIC_LEVELS:
        raise Unsupported(
            f"the alias {alias.__name__} contains itself with other parameters "
            f"each time, {_GENERIC_LEVELS} levels deep"
        )
    check = AliasCheck(alias.__name__, place)
    within.made[place] = check
    inside = within._replace(aliases=(*within.aliases, alias))
    check.target = _compile(value, inside)
    if _is_endless(check):
        raise Unsupported(f"the alias {alias.__name__} stands for itself")
    # What was compiled meanwhile has the check of the alias.
    within.made[place] = check.target
    return check.target


def _is_endless(alias: AliasCheck) -> bool:
    """Returns whether an alias leads to itself before any value is looked into."""
    from snakepit_bridge.tools.annotations.constrained import ConstrainedCheck

    waiting, seen = [alias.target], set[Check]()
    while waiting:
        check = waiting.pop()
        if check is alias:
            return True
        if check in seen:
            continue
        seen.add(check)
        if isinstance(check, AliasCheck):
            waiting.append(check.target)
        elif isinstance(check, (UnionCheck, ConstrainedCheck)):
            waiting += check.parts
    return False


class _Identity:
    """Stands for an object that cannot be hashed."""

    def __init__(self, annotation: Any) -> None:
        # A reference: otherwise another object could get its id.
        self._annotation = annotation

    def __hash__(self) -> int:
        return id(self._annotation)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self._annotation is other._annotation


def _place(annotation: Any) -> Any:
    try:
        hash(annotation)
    except TypeError:  # because of its metadata
        return _Identity(annotation)
    return annotation


def _dtype(arguments: tuple[Any, ...]) -> str | None:
    """Returns the dtype of `ndarray[shape, dtype[X]]`."""
    if len(arguments) != 2:
        return None
    scalars = typing.get_args(arguments[1])
    if len(scalars) != 1 or not isinstance(scalars[0], type):
        return None
    name = scalars[0].__name__.rstrip("_")
    # An abstract one, such as `numpy.floating`: any dtype passes.
    return name if name in ITEM_SIZES else None


def _written(annotation: Any) -> str:
    if isinstance(annotation, type):
        return annotation.__qualname__
    return str(annotation)


def _remedy(annotation: Any) -> str:
    if hasattr(annotation, "__dataclass_fields__"):
        return "annotate it with a TypedDict of the same fields"
    if isinstance(annotation, type) and hasattr(annotation, "_fields"):
        return "annotate it with tuple[...]"
    if "Literal" in str(annotation) or hasattr(annotation, "__members__"):
        return "annotate it with Literal[...] of plain values"
    return "docs/values.md lists the types that can cross; Any accepts all of them"
