"""`Handle[T]`: an object that stays in the worker."""

from __future__ import annotations

import typing
from typing import Annotated, Any, Final, TypeVar

from snakepit_bridge.tools.annotations.check import Check, Schema, SchemaDefinitions
from snakepit_bridge.values.value_not_transferable import Path


class _ByReference:
    def __repr__(self) -> str:
        return "BY_REFERENCE"


BY_REFERENCE: Final = _ByReference()
_Object = TypeVar("_Object")
# For a type checker, this is the object itself, which the tool takes and returns.
Handle = Annotated[_Object, BY_REFERENCE]


class HandleCheck(Check):
    """An object of a class for which the host has a handle.

    Attributes:
        kind: the class; `object` where the annotation names none.
    """

    by_reference = True

    def __init__(self, annotation: Any) -> None:
        kind = typing.get_origin(annotation) or annotation
        self.kind: type = kind if isinstance(kind, type) else object
        self.expected = f"Handle[{getattr(kind, '__name__', kind)}]"

    def check(self, value: Any, path: Path) -> Any:
        if isinstance(value, self.kind):
            return value
        raise self.mismatch(value, path)

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        return {"description": self.expected}


def is_by_reference(metadata: tuple[Any, ...]) -> bool:
    """Returns whether the metadata of an annotation makes it a `Handle`."""
    return any(item is BY_REFERENCE for item in metadata)
