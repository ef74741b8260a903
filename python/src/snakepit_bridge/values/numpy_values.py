"""Arrays, scalars and tables of other libraries; each is imported only where it is needed."""

from __future__ import annotations

import sys
from datetime import date, timedelta

from snakepit_bridge.values.nd_array import ITEM_SIZES, NdArray, check_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy


_TABLE_LIBRARIES = ("pandas", "polars", "pyarrow")


def imported_numpy() -> Any:
    """Returns numpy if this program uses it, else None: only then are there arrays."""
    return sys.modules.get("numpy")


def parts_of_array(value: object) -> tuple[str, list[int], memoryview] | None:
    """Returns dtype, shape and elements of an array or a tensor; None if it is neither.

    Raises:
        ValueError: its elements have no encoding, or are not in the memory of the processor.
    """
    numpy = imported_numpy()
    if numpy is not None and isinstance(value, numpy.ndarray):
        return array_parts(value)
    if not hasattr(type(value), "__dlpack_device__"):
        return None
    # A module that few programs need.
    from snakepit_bridge.values.tensors import array_of_tensor

    return array_parts(array_of_tensor(value))


def bytes_of_table(value: object) -> memoryview | None:
    """Returns a table as a stream of Arrow's IPC format; None if the value is no table.

    Raises:
        ValueError: Arrow cannot hold it.
    """
    if not any(library in sys.modules for library in _TABLE_LIBRARIES):
        return None
    # A module that few programs need.
    from snakepit_bridge.values.tables import is_table, table_bytes

    return table_bytes(value) if is_table(value) else None


def array_parts(
    array: numpy.ndarray[Any, Any],
) -> tuple[str, list[int], memoryview]:
    """Returns dtype, shape and elements (C order, little-endian) of an array.

    Raises:
        ValueError: its elements have no encoding.
    """
    numpy = imported_numpy()
    if isinstance(array, numpy.ma.MaskedArray):
        raise ValueError(  # noqa: TRY004 - the text is what matters
            "is a masked array, whose mask would be lost; send .filled() and the mask"
        )
    name = array.dtype.name
    if name not in ITEM_SIZES:
        raise ValueError(
            f"is an array of {name}, which cannot be sent to the host; convert it with "
            "astype(), or send .tolist() of it"
        )
    ordered = numpy.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    # As plain bytes: not every dtype has a format that memoryview knows.
    elements = memoryview(ordered.reshape(-1).view("uint8"))
    return name, list(array.shape), elements


def numpy_scalar(value: object) -> bool | int | float | date | timedelta | None:
    """Returns the Python value that a numpy scalar equals; None if it is none.

    Raises:
        ValueError: it is NaT.
    """
    numpy = imported_numpy()
    if numpy is None or not isinstance(value, numpy.generic):
        return None
    if isinstance(value, numpy.bool_):
        return bool(value)
    if isinstance(value, (numpy.datetime64, numpy.timedelta64)):
        return _time_scalar(value)
    if isinstance(value, numpy.integer):
        return int(value)
    if isinstance(value, (numpy.float16, numpy.float32, numpy.float64)):
        return float(value)
    return None


def _time_scalar(value: Any) -> date | timedelta | None:
    numpy = imported_numpy()
    if numpy.isnat(value):
        raise ValueError("is a missing time (NaT); send None in its place")
    unit, _ = numpy.datetime_data(value.dtype)
    is_instant = isinstance(value, numpy.datetime64)
    whole_days = is_instant and unit in ("Y", "M", "W", "D")
    if unit == "generic" or (not is_instant and unit in ("Y", "M")):
        return None
    converted = value.astype(f"{value.dtype.kind}8[{'D' if whole_days else 'us'}]")
    # numpy does not report that 64 bits of a finer unit cannot hold the value of a
    # coarser one.
    is_finer = unit in ("ns", "ps", "fs", "as")
    if not is_finer and converted.astype(value.dtype) != value:
        return None
    item = converted.item()
    # A number if it is outside Python's range.
    return item if isinstance(item, (date, timedelta)) else None


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
