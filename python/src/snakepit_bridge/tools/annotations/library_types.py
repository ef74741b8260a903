"""Checks of the types of other libraries: numpy's scalars, tables and tensors."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from typing import Any

from snakepit_bridge.tools.annotations.check import (
    AnnotationContext,
    Check,
    Mismatch,
    type_name,
)
from snakepit_bridge.tools.annotations.classes import DecodedCheck
from snakepit_bridge.tools.annotations.leaves import ArrayCheck
from snakepit_bridge.tools.annotations.standard import WrittenCheck
from snakepit_bridge.values.numpy_values import imported_numpy
from snakepit_bridge.values.tables import TABLES, is_table, table_as
from snakepit_bridge.values.value_not_transferable import Path, shown

# By the class above them: what is sent for them, and what an abstract class stands for.
# A timedelta64 is an integer for numpy.
_SENT: dict[str, tuple[Any, str]] = {
    "bool_": (bool, "bool_"),
    "timedelta64": (timedelta, "timedelta64"),
    "datetime64": (date | datetime, "datetime64"),
    "integer": (int, "int64"),
    "floating": (float, "float64"),
    "complexfloating": (complex, "complex128"),
    "str_": (str, "str_"),
    "bytes_": (bytes, "bytes_"),
}


def scalar_check(kind: type, within: AnnotationContext) -> Check | None:
    """Returns the check of a class of numpy's scalars; None for any other class."""
    numpy = imported_numpy()
    if numpy is None or not issubclass(kind, numpy.generic):
        return None
    for name, (sent, concrete) in _SENT.items():
        if issubclass(kind, getattr(numpy, name)):
            inner = within.compile(sent, within)
            if within.answered:
                return inner
            is_concrete = kind in numpy.sctypeDict.values()
            make = kind if is_concrete else getattr(numpy, concrete)
            return DecodedCheck(kind, inner, _maker(make))
    return None


def _maker(kind: Any) -> Any:
    def make(value: Any) -> Any:
        if isinstance(value, datetime) and value.tzinfo is not None:
            value = value.astimezone(timezone.utc).replace(tzinfo=None)
        numpy = imported_numpy()
        with numpy.errstate(over="ignore"):
            scalar = kind(value)
        # A large integer or duration would silently become another one.
        exact = type(value) in (int, timedelta)
        is_other = scalar.item() != value if exact else False
        if is_other or (
            type(value) is float and math.isinf(scalar) > math.isinf(value)
        ):
            written = value if isinstance(value, timedelta) else shown(value)
            raise ValueError(f"{written} is outside its range")
        return scalar

    return make


# JSON has no such type: this is how the command line and MCP clients write one.
_SCHEMA = {
    "type": "object",
    "properties": {"$table": {"type": "array", "items": {"type": "object"}}},
    "required": ["$table"],
}


class TableCheck(WrittenCheck):
    """A table of pandas, polars or pyarrow, made from the table that arrives."""

    sent = ("ArrowTable",)
    received = ("ArrowTable",)

    def __init__(self, kind: type, module: str, name: str) -> None:
        super().__init__(kind, _SCHEMA)
        self._module, self._name = module, name
        self.expected = f"{module}.{name}"

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is dict and value.keys() == {"$table"}:
            # A module that few tools need.
            from snakepit_bridge.values.json_forms import table_of_json

            try:
                value = table_of_json(value["$table"])
            except ValueError as error:
                problem = f"$table: {error}"
                raise Mismatch(path, self.expected, "dict", problem) from None
        if not is_table(value):
            expected, got = f"a table for {self.expected}", type_name(value)
            remedy = "in TypeScript, send a Table of apache-arrow"
            if isinstance(value, list):
                remedy += ": tableFromJSON(rows)"
            problem = f"expected {expected}, got {got}; {remedy}"
            raise Mismatch(path, expected, got, problem)
        try:
            return table_as(value, self._module, self._name)
        except ValueError as error:
            raise Mismatch(path, self.expected, "a table", str(error)) from None


class TensorCheck(ArrayCheck):
    """A tensor of a library that supports DLPack, made from the array that arrives."""

    def __init__(self, kind: type, module: str, make: Callable[[Any], Any]) -> None:
        super().__init__(None)
        self._kind = kind
        self._make = make
        # jax's has a module in its name.
        self.expected = f"{module}.{kind.__name__.rpartition('.')[2]}"

    def check(self, value: Any, path: Path) -> Any:
        if isinstance(value, self._kind):
            return value
        array = super().check(value, path)
        try:
            return self._make(array)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            got = type_name(value)
            problem = f"{got} is no {self.expected}: {error}"
            raise Mismatch(path, self.expected, got, problem) from None


def library_check(kind: type) -> Check | None:
    """Returns the check of a class of a table or a tensor; None for any other class."""
    for module, name in TABLES:
        if kind is getattr(sys.modules.get(module), name, None):
            return TableCheck(kind, module, name)
    # That is abstract: only its subclasses share their memory.
    is_jax = kind is getattr(sys.modules.get("jax"), "Array", None)
    if not (is_jax or hasattr(kind, "__dlpack__")):
        return None
    library = kind.__module__.partition(".")[0]
    # numpy's own, torch's and CuPy's are at the top; that of jax is not.
    for module in (library, f"{library}.numpy"):
        try:
            make = getattr(importlib.import_module(module), "from_dlpack", None)
        except ImportError:
            make = None
        if make is not None:
            return TensorCheck(kind, library, make)
    return None
