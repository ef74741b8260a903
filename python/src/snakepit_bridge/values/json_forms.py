"""Arrays and tables as JSON, the form that the schemas of tools give them."""

from __future__ import annotations

import base64
import struct
from typing import Any

from snakepit_bridge.values.numpy_values import revive_array
from snakepit_bridge.values.tables import table_of_rows


def array_of_json(parts: Any) -> object:
    """Returns the array of what `$ndarray` has.

    Raises:
        TypeError, ValueError: it is not an array.
    """
    if not isinstance(parts, dict) or not {"dtype", "shape", "data"} <= parts.keys():
        raise ValueError("must be an object with dtype, shape and data")
    dtype, shape, data = parts["dtype"], parts["shape"], parts["data"]
    if isinstance(data, list):
        return _array_of_numbers(dtype, shape, data)
    # Bytes are what an MCP server makes of text that the schema calls base64.
    if not isinstance(data, bytes):
        data = base64.b64decode(data, validate=True)
    return revive_array(dtype, shape, data)


def table_of_json(rows: Any) -> object:
    """Returns the `pyarrow.Table` of what `$table` has.

    Raises:
        ValueError: it is not a table, or pyarrow cannot be imported.
    """
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("must be an array of objects, one for each row")
    return table_of_rows(rows)


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
