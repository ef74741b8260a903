"""Values as JSON: what JSON has no type for is an object with one `$` key."""

from __future__ import annotations

import base64
import json
import math
import struct
from datetime import date, datetime
from typing import Any

from snakepit_bridge.values.nd_array import NdArray
from snakepit_bridge.values.numpy_image import array_parts, imported_numpy, revive_array
from snakepit_bridge.values.tables import is_table, table_as, table_of_rows

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
    if isinstance(value, set):
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


def _array(parts: Any) -> object:
    if not isinstance(parts, dict) or not {"dtype", "shape", "data"} <= parts.keys():
        raise ValueError("must be an object with dtype, shape and data")
    dtype, shape, data = parts["dtype"], parts["shape"], parts["data"]
    if isinstance(data, list):
        return _array_of_numbers(dtype, shape, data)
    return revive_array(dtype, shape, base64.b64decode(data, validate=True))


def _table(rows: Any) -> object:
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("must be an array of objects, one for each row")
    return table_of_rows([_value(row) for row in rows])


def _array_of_numbers(dtype: str, shape: list[int], numbers: list[Any]) -> object:
    """Returns the array of numbers that are written one by one, in C order."""
    letter = _LETTERS.get(dtype)
    if letter is None:
        raise ValueError(f"data of {dtype} is written as base64")
    try:
        data = struct.pack(f"<{len(numbers)}{letter}", *numbers)
    except (struct.error, OverflowError) as error:
        raise ValueError(f"data: {error}") from None
    return revive_array(dtype, shape, data)


# How `struct` writes one element; it knows no complex numbers.
_LETTERS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
}


_TAGS: dict[str, Any] = {
    "$float": float,
    "$bytes": lambda text: base64.b64decode(text, validate=True),
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$tuple": lambda items: tuple(map(_value, items)),
    "$set": lambda items: set(map(_value, items)),
    "$map": lambda items: {_value(key): _value(item) for key, item in items},
    "$ndarray": _array,
    "$table": _table,
}
