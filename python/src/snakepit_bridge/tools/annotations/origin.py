"""The parts of an annotation, as `typing` defines them. Importing `typing` takes a
twelfth of a worker's start. If nothing has imported it, no annotation comes from it,
and only classes and Python's own forms are left: `list[int]` and `int | None`.
"""

from __future__ import annotations

import sys
from types import FunctionType, GenericAlias, MethodType, UnionType

from snakepit_bridge.own_imports import loaded, standard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["hints_of", "origin_of", "parts_of", "unpacked"]

if TYPE_CHECKING:
    import typing
else:
    typing = standard("typing")

# Attributes of functions whose annotations are elsewhere, or are to be ignored.
_SPECIAL = frozenset({"__wrapped__", "__no_type_check__"})


def origin_of(annotation: Any) -> Any:
    """Returns the result of `typing.get_origin`."""
    if loaded("typing") is not None:
        return typing.get_origin(annotation)
    if isinstance(annotation, GenericAlias):
        return annotation.__origin__
    return UnionType if isinstance(annotation, UnionType) else None


def parts_of(annotation: Any) -> tuple[Any, ...]:
    """Returns the result of `typing.get_args`."""
    if loaded("typing") is not None:
        return typing.get_args(annotation)
    if isinstance(annotation, (GenericAlias, UnionType)):
        return annotation.__args__
    return ()


def unpacked(annotation: Any) -> tuple[Any, ...] | None:
    """Returns the parts of the tuple that `*tuple[...]` or `Unpack[tuple[...]]` puts in
    its place; None if it is another annotation. Of `*Ts`, these can be anything.
    """
    if type(annotation) is GenericAlias:
        inner: Any = annotation if getattr(annotation, "__unpacked__", False) else None
    elif getattr(origin_of(annotation), "_name", None) == "Unpack":
        (inner,) = parts_of(annotation)
    else:
        return None
    if inner is None:
        return None
    if origin_of(inner) is tuple:
        parts = parts_of(inner)
        return () if parts == ((),) else parts
    return (object, ...) if type(inner).__name__ == "TypeVarTuple" else None


def hints_of(function: Any) -> dict[str, Any]:
    """Returns what `typing.get_type_hints` does, with its extras.

    Raises:
        Exception: a name cannot be resolved, and what else comes of evaluating text.
    """
    plain = _plain_hints(function)
    if plain is not None:
        return plain
    return typing.get_type_hints(function, include_extras=True)


def _plain_hints(function: Any) -> dict[str, Any] | None:
    """Returns the same if no annotation needs `typing`; None if one may need it."""
    if type(function) is MethodType:
        function = function.__func__
    if type(function) is not FunctionType or not _SPECIAL.isdisjoint(vars(function)):
        return None
    if getattr(function, "__type_params__", ()):
        return None
    if sys.version_info < (3, 11) and None in (function.__defaults__ or ()):
        # There, `typing` makes an `Optional` of what has this default.
        return None
    try:
        hints = {
            name: _resolved(annotation, function.__globals__)
            for name, annotation in function.__annotations__.items()
        }
    except Exception:  # noqa: BLE001 - `typing` says what is wrong with it
        return None
    return hints if all(map(_is_plain, hints.values())) else None


def _resolved(annotation: Any, names: dict[str, Any]) -> Any:
    if isinstance(annotation, str):
        annotation = eval(annotation, names)
    return type(None) if annotation is None else annotation


def _is_plain(annotation: Any) -> bool:
    if type(annotation) is GenericAlias or isinstance(annotation, UnionType):
        return all(map(_is_plain, annotation.__args__))
    if isinstance(annotation, GenericAlias):
        # Of `Callable[[int], str]`, `typing` makes other parts than Python has.
        return False
    return isinstance(annotation, type) or annotation is Ellipsis
