"""Generic classes and type aliases: the types that stand for their type parameters."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from typing import Any

from snakepit_bridge.tools.annotations.check import (
    AliasCheck,
    AnnotationContext,
    Check,
    Unsupported,
)
from snakepit_bridge.tools.annotations.constraints import ConstrainedCheck
from snakepit_bridge.tools.annotations.containers import UnionCheck

_Given = Mapping[Any, Any]


def field_hints(kind: Any, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Returns the resolved annotations of a class and of those that it inherits from.

    Args:
        kind: the class.
        arguments: what is given for its type parameters.

    Raises:
        NameError: an annotation names what cannot be found.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    types = _given(kind, arguments)
    if not any(types.values()):
        return hints
    owners = list(types)
    if hasattr(kind, "__required_keys__"):
        # The annotations of a `TypedDict` are also those that it inherits.
        owners.reverse()
    own = {owner: inspect.get_annotations(owner) for owner in owners}
    for name, hint in hints.items():
        owner = next((owner for owner in owners if name in own[owner]), kind)
        hints[name] = _filled(hint, types[owner])
    return hints


def _given(kind: Any, arguments: tuple[Any, ...]) -> dict[Any, _Given]:
    """Returns what is given for the type parameters of a class, and of each above it."""
    parameters = getattr(kind, "__parameters__", ())
    types = dict(zip(parameters, arguments, strict=False))
    if any(type(each).__name__ == "TypeVarTuple" for each in parameters):
        # Which of the arguments are its own is not said: it stands for any.
        types = {}
    types_of: dict[Any, _Given] = {kind: types}
    for base in vars(kind).get("__orig_bases__", kind.__bases__):
        origin = typing.get_origin(base) or base
        if isinstance(origin, type) and origin is not object:
            filled = [_filled(argument, types) for argument in typing.get_args(base)]
            for owner, above in _given(origin, tuple(filled)).items():
                types_of.setdefault(owner, above)
    return types_of


def _filled(hint: Any, types: _Given) -> Any:
    """Returns an annotation with types in the place of type parameters."""
    if isinstance(hint, typing.TypeVar):
        return types.get(hint, hint)
    parameters = () if isinstance(hint, type) else getattr(hint, "__parameters__", ())
    if not types or not parameters:
        return hint
    return hint[tuple(types.get(parameter, parameter) for parameter in parameters)]


# An alias can contain itself with other parameters each time, endlessly.
GENERIC_LEVELS = 8


def alias_check(
    annotation: Any, alias: Any, value: Any, within: AnnotationContext
) -> Check:
    """Compiles an alias, and its parameters where it is generic.

    Raises: Unsupported: it stands for itself, or for a type that no value that can be
    sent has.
    """
    key = cache_key(annotation)
    if key in within.compiled:
        return within.compiled[key]
    if within.aliases.count(alias) >= GENERIC_LEVELS:
        raise Unsupported(
            f"the alias {alias.__name__} contains itself with other parameters "
            f"each time, {GENERIC_LEVELS} levels deep"
        )
    check = AliasCheck(alias.__name__, key)
    within.compiled[key] = check
    inside = within.replace(aliases=(*within.aliases, alias))
    check.target = within.compile(value, inside)
    if _is_endless(check):
        raise Unsupported(f"the alias {alias.__name__} stands for itself")
    # Parts that were compiled meanwhile have the check of the alias.
    within.compiled[key] = check.target
    return check.target


def _is_endless(alias: AliasCheck) -> bool:
    """Returns whether an alias leads to itself before any value is examined."""
    waiting, visited = [alias.target], set[Check]()
    while waiting:
        check = waiting.pop()
        if check is alias:
            return True
        if check in visited:
            continue
        visited.add(check)
        if isinstance(check, AliasCheck):
            waiting.append(check.target)
        elif isinstance(check, (UnionCheck, ConstrainedCheck)):
            waiting += check.parts
    return False


class _Identity:
    """Stands for an object that cannot be hashed."""

    def __init__(self, annotation: Any) -> None:
        # A reference, because otherwise another object could get its id.
        self._annotation = annotation

    def __hash__(self) -> int:
        return id(self._annotation)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self._annotation is other._annotation


def cache_key(annotation: Any) -> Any:
    """Returns what stands for an annotation in a dict of what was compiled."""
    try:
        hash(annotation)
    except TypeError:  # because of its metadata
        return _Identity(annotation)
    return annotation
