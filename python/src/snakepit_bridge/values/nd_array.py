"""An array of numbers, for programs that have no numpy."""

from __future__ import annotations

import math
from collections.abc import Sequence

ITEM_SIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "float16": 2,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
    **{
        f"{kind}[{unit}]": 8
        for kind in ("datetime64", "timedelta64")
        for unit in ("D", "h", "m", "s", "ms", "us", "ns")
    },
}


def check_parts(dtype: str, shape: Sequence[int], size: int) -> None:
    """Checks whether an array can have these parts.

    Args:
        dtype: the name of the element type.
        shape: the extent of each dimension.
        size: how many bytes the elements have.

    Raises:
        ValueError: the dtype is unknown, or the bytes do not fit the shape.
    """
    item_size = ITEM_SIZES.get(dtype)
    if item_size is None:
        known = ", ".join(ITEM_SIZES)
        raise ValueError(f"no dtype {dtype!r}; known: {known}")
    if any(type(extent) is not int or extent < 0 for extent in shape):
        raise ValueError(f"a shape has whole numbers from 0, got {list(shape)}")
    needed = math.prod(shape) * item_size
    if size != needed:
        raise ValueError(
            f"shape {list(shape)} of {dtype} needs {needed} bytes, got {size}"
        )


class NdArray:
    """An array of numbers in C order, little-endian, that does no arithmetic.

    If numpy is installed, arrays arrive as `numpy.ndarray`, unless the parameter is
    annotated with this class.

    Attributes:
        dtype: the name of the element type, as in numpy.
        shape: the extent of each dimension; empty for one element.
        data: the elements as bytes.
    """

    __slots__ = ("data", "dtype", "shape")

    def __init__(
        self, dtype: str, shape: Sequence[int], data: bytes | memoryview
    ) -> None:
        """Takes the elements as bytes.

        Raises:
            ValueError: the dtype is unknown, or the bytes do not fit the shape.
        """
        check_parts(dtype, shape, memoryview(data).nbytes)
        self.dtype = dtype
        self.shape = tuple(shape)
        self.data = bytes(data)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NdArray):
            return NotImplemented
        return (self.dtype, self.shape, self.data) == (
            other.dtype,
            other.shape,
            other.data,
        )

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape, self.data))

    def __repr__(self) -> str:
        return f"NdArray({self.dtype!r}, {self.shape!r}, {len(self.data)} bytes)"
