"""The plain data that is sent instead of values for which the encoding has no type.

By the run-time type: nothing is imported that the program does not use itself.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

from snakepit_bridge.values.durations import duration_text
from snakepit_bridge.values.encode import BuiltinForm
from snakepit_bridge.values.own_types import ENCODERS


def _complex(value: complex) -> object:
    return {"re": float(value.real), "im": float(value.imag)}


def _range(value: range) -> object:
    return {"start": value.start, "stop": value.stop, "step": value.step}


_FORMS: dict[str, BuiltinForm] = {
    "builtins.complex": _complex,
    "builtins.range": _range,
    "collections.deque": list,
    "datetime.time": operator.methodcaller("isoformat"),
    "datetime.timedelta": duration_text,
    "decimal.Decimal": str,
    "enum.Enum": operator.attrgetter("_value_"),
    "numpy.complexfloating": _complex,
    "pathlib.PurePath": str,
    "uuid.UUID": str,
    **{
        f"ipaddress.IPv{version}{name}": str
        for version in (4, 6)
        for name in ("Address", "Network", "Interface")
    },
}
# Their instances are sent as the type itself, whatever else they are.
_BUILTINS = (dict, list, str, int, float, bytes, bytearray, set, frozenset, date)


def find_form(kind: type) -> BuiltinForm | None:
    """Returns the function that makes plain data of a type's instances; None if there
    is none.
    """
    for base in kind.__mro__:
        if base in ENCODERS:
            return ENCODERS[base]
    for base in kind.__mro__:
        # Of Python 3.13, the module is `pathlib._local`.
        form = _FORMS.get(f"{base.__module__.partition('.')[0]}.{base.__qualname__}")
        if form is not None:
            return form
    return None if issubclass(kind, (*_BUILTINS, datetime)) else _of_fields(kind)


def _of_fields(kind: type) -> BuiltinForm | None:
    """Returns what makes an object of a record's fields."""
    if hasattr(kind, "__pydantic_fields__"):
        return _of_model(kind)
    if hasattr(kind, "__dataclass_fields__"):
        fields = kind.__dataclass_fields__.values()
        # Not the pseudo-fields that are `ClassVar` or `InitVar`.
        real = [field for field in fields if field._field_type.name == "_FIELD"]
        return _of_attributes([field.name for field in real])
    if hasattr(kind, "__attrs_attrs__"):
        fields = kind.__attrs_attrs__
        names = [field.name for field in fields]
        # Of `_x`, it is `x`: what its initializer takes.
        return _of_attributes(names, [field.alias for field in fields])
    if hasattr(kind, "__struct_encode_fields__"):
        return _of_struct(kind)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _of_attributes(kind._fields)
    url = getattr(kind, "unicode_string", None)
    if url is not None and kind.__module__.startswith("pydantic"):
        return str
    return None


def _of_model(kind: Any) -> BuiltinForm:
    write = kind.__pydantic_serializer__.to_python

    def form(value: Any) -> object:
        return write(value, by_alias=True)

    return form


def _of_struct(kind: Any) -> BuiltinForm:
    attributes = _of_attributes(kind.__struct_fields__, kind.__struct_encode_fields__)
    unset = sys.modules["msgspec"].UNSET
    config = kind.__struct_config__
    tag = {} if config.tag is None else {config.tag_field: config.tag}

    def form(value: Any) -> object:
        fields = {k: v for k, v in attributes(value).items() if v is not unset}
        return {**tag, **fields}

    return form


def _of_attributes(
    names: Sequence[str], written: Sequence[str] | None = None
) -> Callable[[Any], dict[str, Any]]:
    """Returns what makes a dict of attributes, under the names that they are written with."""
    pairs = list(zip(names, written or names, strict=True))

    def form(value: Any) -> dict[str, Any]:
        try:
            return {name: getattr(value, attribute) for attribute, name in pairs}
        except AttributeError:
            # An attribute that was never set.
            set_ones = [pair for pair in pairs if hasattr(value, pair[0])]
            return {name: getattr(value, attribute) for attribute, name in set_ones}

    return form
