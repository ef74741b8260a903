"""The annotations of values that pydantic's serializers write instead."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

from pydantic_core import PydanticUndefined

__all__ = ["field_annotation", "metadata_annotation", "model_annotation"]


def field_annotation(kind: Any, name: str, annotation: Any) -> Any:
    """Returns the annotation of what is written for a field, given that of the field."""
    for decorator in kind.__pydantic_decorators__.field_serializers.values():
        if name in decorator.info.fields or "*" in decorator.info.fields:
            return _written(decorator.func, decorator.info, annotation)
    return annotation


def model_annotation(kind: Any) -> Any:
    """Returns the annotation of what is written for a model; the model without a serializer."""
    for decorator in kind.__pydantic_decorators__.model_serializers.values():
        return _written(decorator.func, decorator.info, kind)
    return kind


def metadata_annotation(annotation: Any) -> Any:
    """Returns the annotation of what is written by the metadata of `Annotated`."""
    for item in _serializers(annotation.__metadata__):
        return _written(item.func, item, annotation)
    return annotation


def _serializers(metadata: tuple[Any, ...]) -> Iterator[Any]:
    # The last one replaces the others.
    for item in reversed(metadata):
        kind = type(item)
        is_one = kind.__name__ in ("PlainSerializer", "WrapSerializer")
        if is_one and kind.__module__ == "pydantic.functional_serializers":
            yield item


def _written(function: Any, serializer: Any, annotation: Any) -> Any:
    """Returns what a serializer is annotated with; anything where that is not known."""
    if serializer.when_used.startswith("json"):
        # The sent value is not its JSON.
        return annotation
    returned = serializer.return_type
    if returned is PydanticUndefined:
        try:
            hints = typing.get_type_hints(function, include_extras=True)
        except Exception:  # noqa: BLE001 - a name that is not known, or no function
            hints = {}
        returned = hints.get("return", Any)
    is_optional = serializer.when_used == "unless-none"
    return typing.Optional[returned] if is_optional else returned  # noqa: UP045 - it may be text
