"""Checks of values that contain no others."""

from __future__ import annotations

from datetime import date, datetime, timezone

from snakepit_bridge.own_imports import loaded
from snakepit_bridge.tools.annotations.check import (
    Check,
    Mismatch,
    Schema,
    SchemaDefinitions,
    type_name,
)
from snakepit_bridge.values.nd_array import NdArray
from snakepit_bridge.values.numpy_values import array_parts, imported_numpy
from snakepit_bridge.values.value_not_transferable import Path, has_digits, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ScalarCheck(Check):
    """A type whose own instances pass, and no others: a bool is not an int here, nor a datetime a date."""

    def __init__(self, kind: type, schema: Schema, *samples: Any) -> None:
        self.kind = kind
        self._schema = schema
        self.samples = samples
        self.expected = "None" if kind is type(None) else kind.__name__
        self.exact = frozenset({kind})

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is self.kind:
            return value
        raise self.mismatch(value, path)

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        return dict(self._schema)


class MomentCheck(ScalarCheck):
    """`date` and `datetime`; text in ISO 8601 is converted, because a caller may have
    only JSON.
    """

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is not str:
            return super().check(value, path)
        # A module that few tools need.
        from snakepit_bridge.tools.annotations.moment_texts import FORMS, READERS

        try:
            return READERS[self.kind](value)
        except ValueError:
            form = f"{self.expected}, or text ({FORMS[self.kind]})"
            raise Mismatch(path, form, "other text") from None


SCALARS = {
    check.kind: check
    for check in (
        ScalarCheck(type(None), {"type": "null"}, None),
        ScalarCheck(bool, {"type": "boolean"}, True),
        ScalarCheck(int, {"type": "integer"}, 1),
        ScalarCheck(str, {"type": "string"}, ""),
        MomentCheck(date, {"type": "string", "format": "date"}, date(2000, 1, 1)),
        MomentCheck(
            datetime,
            {"type": "string", "format": "date-time"},
            datetime(2000, 1, 1),
            datetime(2000, 1, 1, tzinfo=timezone.utc),
        ),
    )
}


class FloatCheck(Check):
    """`float`; an int is converted, because the host may have no other way to send
    one.
    """

    expected = "float"
    exact = frozenset({float})
    samples = (1.0,)

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is float:
            return value
        if type(value) is int:
            try:
                return float(value)
            except OverflowError:
                raise Mismatch(path, "float", "an int beyond its range") from None
        raise self.mismatch(value, path)

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        return {"type": "number"}


class BytesCheck(Check):
    """`bytes`, `bytearray` and `memoryview`, made from the bytes that arrive."""

    samples = (b"",)

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self.expected = kind.__name__
        self.exact = frozenset({bytes}) if kind is bytes else frozenset()

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is bytes:
            return value if self._kind is bytes else self._kind(value)
        raise self.mismatch(value, path)

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        return {"type": "string", "contentEncoding": "base64"}


def builtin_literal(value: Any) -> Any:
    """Returns what is sent for a value of a `Literal`: of an enum's member its value."""
    enum = loaded("enum")
    return value.value if enum is not None and isinstance(value, enum.Enum) else value


class LiteralCheck(Check):
    """`Literal[...]`: one of these values, of the same type; for an enum's member its value.

    Attributes:
        values: what is sent for them.
    """

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.samples = values
        self.values = [builtin_literal(value) for value in values]
        self.expected = "one of " + ", ".join(map(shown, self.values))

    def check(self, value: Any, path: Path) -> Any:
        for sent, allowed in zip(self.values, self.samples or (), strict=True):
            if type(value) is type(sent) and value == sent:
                return value if sent is allowed else allowed
        got = shown(value) if isinstance(value, (str, int)) else type_name(value)
        raise Mismatch(path, self.expected, got[:200])

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        return one_of(self.values)


def one_of(values: list[Any]) -> Schema:
    """Returns the schema of some values; for integers that cannot be JSON, of all."""
    written = [each for each in values if type(each) is not int or has_digits(each)]
    if len(written) == len(values):
        return {"enum": written}
    return {"anyOf": [{"enum": written}, {"type": "integer"}]}


class _Sized:
    """Stands for an array: it has a length, and compares item by item."""

    def __len__(self) -> int:
        return 0


class ArrayCheck(Check):
    """`numpy.ndarray` and `NDArray[dtype]`.

    Attributes:
        dtypes: the names of those that pass; None where any does.
        shapes: those that pass, with None where any extent does; None where all do.
    """

    samples = (_Sized(),)

    def __init__(
        self,
        dtypes: list[str] | None,
        shapes: list[tuple[int | None, ...]] | None = None,
        word: str = "",
    ) -> None:
        """`word`: what the dtypes are called in the annotation."""
        self.dtypes = dtypes
        self.shapes = shapes
        self.expected = f"ndarray[{word}]" if word else "ndarray"
        if shapes is not None:
            written = " or ".join(map(_shape_text, shapes))
            self.expected += f" of shape {written}"

    def check(self, value: Any, path: Path) -> Any:
        value = self.of_json(value, path)
        numpy = imported_numpy()
        is_array = numpy is not None and isinstance(value, numpy.ndarray)
        if is_array and (self.dtypes is None or value.dtype.name in self.dtypes):
            if self.shapes is None or _fits_one(value.shape, self.shapes):
                return value
            got = f"{type_name(value)} of shape {_shape_text(value.shape)}"
            raise Mismatch(path, self.expected, got)
        raise self.mismatch(value, path)

    @property
    def takes_flat(self) -> bool:
        """Whether an array of one dimension may pass."""
        return self.shapes is None or any(len(shape) == 1 for shape in self.shapes)

    def of_json(self, value: Any, path: Path) -> Any:
        """Returns the array that a caller with nothing but JSON has written."""
        if type(value) is not dict or value.keys() != {"$ndarray"}:
            return value
        # A module that few tools need.
        from snakepit_bridge.values.json_forms import array_of_json

        try:
            return array_of_json(value["$ndarray"])
        except (TypeError, ValueError) as error:
            raise Mismatch(path, self.expected, "dict", f"$ndarray: {error}") from None

    def mismatch(self, value: object, path: Path) -> Mismatch:
        mismatch = super().mismatch(value, path)
        # The values that callers try first: an array of JavaScript, and a Uint8Array.
        if not isinstance(value, list | bytes):
            return mismatch
        remedy = "in TypeScript, send an NdArray: NdArray.from(typedArray, shape)"
        problem = f"{mismatch}; {remedy}"
        return Mismatch(path, mismatch.expected, mismatch.got, problem)

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        # JSON has no such type: this is how the command line and MCP clients write one.
        properties: Schema = {
            "dtype": {"type": "string"}
            if self.dtypes is None
            else {"const": self.dtypes[0]}
            if len(self.dtypes) == 1
            else {"enum": self.dtypes},
            "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}},
            "data": {
                "anyOf": [
                    {"type": "array", "items": {"type": ["number", "boolean"]}},
                    {"type": "string", "contentEncoding": "base64"},
                ]
            },
        }
        array = {
            "type": "object",
            "properties": properties,
            "required": ["dtype", "shape", "data"],
        }
        return {
            "type": "object",
            "properties": {"$ndarray": array},
            "required": ["$ndarray"],
        }


def _fits_one(shape: tuple[int, ...], shapes: list[tuple[int | None, ...]]) -> bool:
    return any(
        len(shape) == len(allowed)
        and all(b is None or a == b for a, b in zip(shape, allowed, strict=True))
        for allowed in shapes
    )


def _shape_text(shape: tuple[int | None, ...]) -> str:
    return f"({', '.join('n' if extent is None else str(extent) for extent in shape)})"


class NdArrayCheck(ArrayCheck):
    """`NdArray`, made from numpy's array if one arrives."""

    def __init__(self) -> None:
        super().__init__(None)
        self.expected = "NdArray"

    def check(self, value: Any, path: Path) -> Any:
        value = self.of_json(value, path)
        if type(value) is NdArray:
            return value
        return NdArray(*array_parts(super().check(value, path)))
