"""Defaults that stand for others, which only the library that they are from resolves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from snakepit_bridge.tools.annotations.check import Unsupported
from snakepit_bridge.tools.function_shape import NO_DEFAULT

# pydantic's own, of which `Query()` and the like of FastAPI are subclasses.
_FIELD = "pydantic.fields.FieldInfo"
# What is meant by these only their library knows.
_MARKERS = frozenset(
    {
        "attr._make._CountingAttr",
        "dataclasses.Field",
        "fastapi.params.Depends",
        "msgspec._core.Field",
        "pydantic.v1.fields.FieldInfo",
        "typer.models.ParameterInfo",
    }
)
# Values that each call may share.
_IMMUTABLE = (type(None), bool, int, float, complex, str, bytes)


def marked_default(
    hint: Any, default: Any, foreign: bool
) -> tuple[Any, Any, Callable[[], Any] | None]:
    """Returns the annotation and the default that a parameter has.

    A default of `Field(default=3, gt=0)` is 3, and the constraints are those of the
    annotation; a call that leaves it out gets the 3.

    Args:
        hint: the annotation.
        default: the default in Python.
        foreign: whether the function was not written as a tool: then a parameter whose
            default cannot be known has none.

    Returns:
        The annotation, the default, and what makes the default of a call, if that is
        not Python's own.

    Raises:
        Unsupported: only another library knows the default.
    """
    bases = [f"{base.__module__}.{base.__qualname__}" for base in type(default).__mro__]
    if _FIELD in bases:
        annotated = Annotated[hint, default]
        if default.is_required():
            return annotated, NO_DEFAULT, None
        value = default.default
        if default.default_factory is None and isinstance(value, _IMMUTABLE):
            return annotated, value, lambda: value
        # Each call gets another one, as from pydantic.
        return annotated, default, lambda: _made(default)
    marker = next((base for base in bases if base in _MARKERS), None)
    if marker is None:
        return hint, default, None
    if foreign:
        return hint, NO_DEFAULT, None
    library = marker.partition(".")[0]
    raise Unsupported(
        f"its default is a {type(default).__qualname__}, which only {library} replaces by "
        "a value; write the value itself, and constraints as Annotated[...]"
    )


def _made(field: Any) -> Any:
    if getattr(field, "default_factory_takes_validated_data", False):
        return field.get_default(call_default_factory=True, validated_data={})
    return field.get_default(call_default_factory=True)
