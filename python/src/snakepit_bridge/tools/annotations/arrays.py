"""Checks of arrays of numbers."""

from __future__ import annotations

from typing import Any

from snakepit_bridge.tools.annotations.check import Check, Definitions, Schema
from snakepit_bridge.values.nd_array import NdArray
from snakepit_bridge.values.no_image import Path
from snakepit_bridge.values.numpy_image import array_parts, imported_numpy

__all__ = ["ArrayCheck", "NdArrayCheck"]


class ArrayCheck(Check):
    """`numpy.ndarray` and `NDArray[dtype]`."""

    def __init__(self, dtype: str | None) -> None:
        self.dtype = dtype
        self.expected = "ndarray" if dtype is None else f"ndarray[{dtype}]"

    def check(self, value: Any, path: Path) -> Any:
        numpy = imported_numpy()
        is_array = numpy is not None and isinstance(value, numpy.ndarray)
        if is_array and self.dtype in (None, value.dtype.name):
            return value
        raise self.mismatch(value, path)

    def schema(self, definitions: Definitions) -> Schema:
        return _schema(self.dtype)


class NdArrayCheck(Check):
    """`NdArray`, made of numpy's array where that arrives."""

    expected = "NdArray"

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is NdArray:
            return value
        numpy = imported_numpy()
        if numpy is not None and isinstance(value, numpy.ndarray):
            return NdArray(*array_parts(value))
        raise self.mismatch(value, path)

    def schema(self, definitions: Definitions) -> Schema:
        return _schema(None)


def _schema(dtype: str | None) -> Schema:
    # JSON has no such type: what stands here is the CLI's way to write one.
    properties: Schema = {
        "dtype": {"type": "string"} if dtype is None else {"const": dtype},
        "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        "data": {
            "anyOf": [
                {"type": "array", "items": {"type": ["number", "boolean"]}},
                {"type": "string", "contentEncoding": "base64"},
            ]
        },
    }
    return {
        "type": "object",
        "properties": {
            "$ndarray": {
                "type": "object",
                "properties": properties,
                "required": ["dtype", "shape", "data"],
            }
        },
        "required": ["$ndarray"],
    }
