"""Checks of classes: a program's own classes, and those of the standard library and of
other libraries.
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable
from typing import Any

from snakepit_bridge.tools.annotations.check import (
    REJECTIONS,
    AnnotationContext,
    Check,
    Mismatch,
    Schema,
    SchemaDefinitions,
    type_name,
)
from snakepit_bridge.tools.annotations.records import record_check
from snakepit_bridge.tools.annotations.standard import standard_check
from snakepit_bridge.values.own_types import DECODERS, ENCODERS
from snakepit_bridge.values.value_not_transferable import Path


class DecodedCheck(Check):
    """A type with a `decoder`, described by the decoder's input."""

    def __init__(self, kind: type, inner: Check, decode: Callable[[Any], Any]) -> None:
        self.expected = kind.__name__
        self.described = inner
        self.parts = (inner,)
        self._decode: Any = decode
        self._kind = kind if _knows_instances(kind) else object

    def check(self, value: Any, path: Path) -> Any:
        checked = self.parts[0].check(value, path)
        try:
            decoded = self._decode(checked)
        except REJECTIONS as error:
            reason = str(error) or type(error).__name__
            problem = f"not a valid {self.expected}: {reason}"
            raise Mismatch(path, self.expected, problem, problem) from None
        if not isinstance(decoded, self._kind):
            raise TypeError(
                f"the @decoder {self._decode.__qualname__} returned "
                f"{type_name(decoded)}; return {self.expected}, as its annotation says"
            )
        return decoded

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        return self.parts[0].schema(definitions)


def own_check(kind: type, within: AnnotationContext) -> Check | None:
    """Returns the check of a type with a decoder, or the description of one with an
    encoder; None where the program has none for it, or pydantic does not use it.

    Raises:
        Unsupported: no value that can cross is what the decoder takes.
    """
    if within.answered:
        decoder = (ENCODERS[base] for base in kind.__mro__ if base in ENCODERS)
        encode = next(decoder, None)
        if encode is None or (within.in_model and _is_taken_apart(kind)):
            return None
        return within.part(_hints(encode).get("return", Any))
    decode = DECODERS.get(kind)
    if decode is None or within.in_model:
        return None
    taken = [hint for name, hint in _hints(decode).items() if name != "return"]
    return DecodedCheck(kind, within.part(taken[0] if taken else Any), decode)


def _is_taken_apart(kind: type) -> bool:
    """Returns whether pydantic writes plain data for instances inside a model."""
    fields = ("__pydantic_fields__", "__dataclass_fields__")
    containers = (list, tuple, dict, set, frozenset)
    return issubclass(kind, containers) or any(hasattr(kind, f) for f in fields)


def _knows_instances(kind: type) -> bool:
    """Whether `isinstance` accepts it: typed dicts and most protocols refuse."""
    try:
        isinstance(None, kind)
    except TypeError:
        return False
    return True


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    return typing.get_type_hints(function, include_extras=True)


def class_check(
    kind: type, arguments: tuple[Any, ...], annotation: Any, within: AnnotationContext
) -> Check | None:
    """Returns the check of a class; None where it is not known what it is sent as.

    Args:
        kind: the class.
        arguments: what is given for its type parameters.
        annotation: the class with these.
        within: where it occurs.

    Raises:
        Unsupported: no value that can cross is an instance.
    """
    return (
        own_check(kind, within)
        or _model_check(kind, annotation, within)
        or standard_check(kind)
        or record_check(kind, arguments, annotation, within)
        or _scalar_check(kind, within)
        or _library_check(kind, within)
    )


def _model_check(
    kind: type, annotation: Any, within: AnnotationContext
) -> Check | None:
    # Only a program that uses pydantic has models.
    if "pydantic" not in sys.modules:
        return None
    from snakepit_bridge.tools.annotations.models import model_check

    return model_check(kind, annotation, within)


def _scalar_check(kind: type, within: AnnotationContext) -> Check | None:
    if "numpy" not in sys.modules:
        return None
    from snakepit_bridge.tools.annotations.library_types import scalar_check

    return scalar_check(kind, within)


def _library_check(kind: type, within: AnnotationContext) -> Check | None:
    arrives = (kind.__module__.partition(".")[0], kind.__name__) == ("pyarrow", "Table")
    if within.in_model and not within.answered and not arrives:
        # pydantic takes only instances: the input of a validator is not known.
        return None
    # Modules that few tools need.
    from snakepit_bridge.tools.annotations.library_types import library_check

    return library_check(kind)
