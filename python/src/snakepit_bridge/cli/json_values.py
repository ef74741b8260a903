"""Values as JSON: what JSON has no type for is an object with one `$` key."""

from __future__ import annotations

import base64
import json
import math
from datetime import date, datetime
from typing import Any

from snakepit_bridge.values.json_forms import array_of_json, table_of_json
from snakepit_bridge.values.nd_array import NdArray
from snakepit_bridge.values.no_image import has_digits
from snakepit_bridge.values.numpy_image import array_parts, imported_numpy
from snakepit_bridge.values.tables import is_table, table_as

__all__ = ["from_json", "to_json"]


def to_json(value: Any) -> str:
    """Returns one line of JSON for a value that has an image."""
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)


def from_json(text: str) -> Any:
    """Returns the value that a text of JSON stands for.

    Raises:
        ValueError: it is not JSON, or has an invalid `$` object.
    """
    return _value(json.loads(text))


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": str(value)}
    if isinstance(value, int) and not has_digits(value):
        return {"$int": hex(value)}
    if isinstance(value, (bytes, NdArray)):
        return _plain_binary(value)
    if isinstance(value, datetime):
        return {"$datetime": value.isoformat()}
    if isinstance(value, date):
        return {"$date": value.isoformat()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, tuple):
        return {"$tuple": [_plain(item) for item in value]}
    if isinstance(value, (set, frozenset)):
        return {"$set": [_plain(item) for item in value]}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: _plain(item) for key, item in value.items()}
        return {"$map": [[_plain(k), _plain(item)] for k, item in value.items()]}
    numpy = imported_numpy()
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _plain_binary(NdArray(*array_parts(value)))
    if is_table(value):
        rows = table_as(value, "pyarrow", "Table").to_pylist()  # type: ignore[attr-defined]
        return {"$table": _plain(rows)}
    return value


def _plain_binary(value: bytes | NdArray) -> Any:
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    data = base64.b64encode(value.data).decode()
    parts = {"dtype": value.dtype, "shape": list(value.shape), "data": data}
    return {"$ndarray": parts}


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_value(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if len(plain) == 1:
        ((key, content),) = plain.items()
        read = _TAGS.get(key)
        if read is not None:
            try:
                return read(content)
            except (TypeError, KeyError, ValueError) as error:
                raise ValueError(f"{key}: {error}") from None
    return {key: _value(item) for key, item in plain.items()}


_TAGS: dict[str, Any] = {
    "$float": float,
    "$int": lambda text: int(text, 0),
    "$bytes": lambda text: base64.b64decode(text, validate=True),
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$tuple": lambda items: tuple(map(_value, items)),
    "$set": lambda items: set(map(_value, items)),
    "$map": lambda items: {_value(key): _value(item) for key, item in items},
    "$ndarray": array_of_json,
    "$table": lambda rows: table_of_json(_value(rows)),
}
