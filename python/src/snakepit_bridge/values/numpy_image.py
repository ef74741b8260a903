"""Arrays and scalars of numpy, which is imported only where it is needed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from snakepit_bridge.values.nd_array import ITEM_SIZES, NdArray, check_parts

if TYPE_CHECKING:
    import numpy

__all__ = ["array_parts", "imported_numpy", "numpy_scalar", "revive_array"]


def imported_numpy() -> Any:
    """Returns numpy if this program uses it, else None: only then are there arrays."""
    return sys.modules.get("numpy")


def array_parts(
    array: numpy.ndarray[Any, Any],
) -> tuple[str, list[int], memoryview]:
    """Returns dtype, shape and elements (C order, little-endian) of an array.

    Raises:
        ValueError: its elements have no image.
    """
    numpy = imported_numpy()
    if isinstance(array, numpy.ma.MaskedArray):
        raise ValueError(  # noqa: TRY004 - the text is what matters
            "is a masked array, whose mask would be lost; send .filled() and the mask"
        )
    name = array.dtype.name
    if name not in ITEM_SIZES:
        raise ValueError(
            f"is an array of {name}, which cannot be sent to the host; convert it with astype()"
        )
    ordered = numpy.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    # As plain bytes: not every dtype has a format that memoryview knows.
    elements = memoryview(ordered.reshape(-1).view("uint8"))
    return name, list(array.shape), elements


def numpy_scalar(value: object) -> bool | int | float | None:
    """Returns the Python number that a numpy scalar equals; None if it is none."""
    numpy = imported_numpy()
    if numpy is None or not isinstance(value, numpy.generic):
        return None
    if isinstance(value, numpy.bool_):
        return bool(value)
    if isinstance(value, numpy.integer) and not isinstance(value, numpy.timedelta64):
        return int(value)
    if isinstance(value, (numpy.float16, numpy.float32, numpy.float64)):
        return float(value)
    return None


def revive_array(dtype: str, shape: list[int], data: bytes | memoryview) -> object:
    """Returns a `numpy.ndarray` where numpy can be imported, else an `NdArray`.

    The array is over `data` itself where that can be written to.

    Raises:
        ValueError: the parts do not fit each other.
    """
    check_parts(dtype, shape, memoryview(data).nbytes)
    try:
        import numpy
    except ImportError:
        return NdArray(dtype, shape, bytes(data))
    little_endian = numpy.dtype(dtype).newbyteorder("<")
    elements = numpy.frombuffer(data, little_endian).reshape(shape)
    return elements.astype(dtype, copy=not elements.flags.writeable)
