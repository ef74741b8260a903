"""The types of the fields of a class, with types in the place of its type parameters."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from typing import Any

__all__ = ["field_hints"]

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
    given = _given(kind, arguments)
    if not any(given.values()):
        return hints
    owners = list(given)
    if hasattr(kind, "__required_keys__"):
        # The annotations of a `TypedDict` are also those that it inherits.
        owners.reverse()
    own = {owner: inspect.get_annotations(owner) for owner in owners}
    for name, hint in hints.items():
        owner = next((owner for owner in owners if name in own[owner]), kind)
        hints[name] = _filled(hint, given[owner])
    return hints


def _given(kind: Any, arguments: tuple[Any, ...]) -> dict[Any, _Given]:
    """Returns what is given for the type parameters of a class, and of each above it."""
    parameters = getattr(kind, "__parameters__", ())
    given = dict(zip(parameters, arguments, strict=False))
    if any(type(each).__name__ == "TypeVarTuple" for each in parameters):
        # Which of the arguments are its own is not said: it stands for any.
        given = {}
    found: dict[Any, _Given] = {kind: given}
    for base in vars(kind).get("__orig_bases__", kind.__bases__):
        origin = typing.get_origin(base) or base
        if isinstance(origin, type) and origin is not object:
            filled = [_filled(argument, given) for argument in typing.get_args(base)]
            for owner, above in _given(origin, tuple(filled)).items():
                found.setdefault(owner, above)
    return found


def _filled(hint: Any, given: _Given) -> Any:
    """Returns an annotation with types in the place of type parameters."""
    if isinstance(hint, typing.TypeVar):
        return given.get(hint, hint)
    parameters = () if isinstance(hint, type) else getattr(hint, "__parameters__", ())
    if not given or not parameters:
        return hint
    return hint[tuple(given.get(parameter, parameter) for parameter in parameters)]
