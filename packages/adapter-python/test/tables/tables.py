"""Tools that take and return tables."""

import decimal
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import array_api_strict
import numpy
import pandas
import polars
import pyarrow
from array_api_strict._array_object import Array as Tensor
from snakepit_bridge import tool

COLUMNS: dict[str, Any] = {
    "whole": [1, -2, 3],
    "half": [0.5, None, 2.5],
    "text": ["a", None, "ü"],
    "flag": [True, False, None],
    "at": pandas.to_datetime(["2024-02-29", None, "2024-03-01"]),
    "kind": pandas.Categorical(["x", "y", "x"]),
    "list": [[1], None, [2, 3]],
    "price": [decimal.Decimal("1.50"), None, decimal.Decimal("2.25")],
}


@tool
def from_pandas() -> pandas.DataFrame:
    return pandas.DataFrame(COLUMNS)


@tool
def from_polars() -> polars.DataFrame:
    return polars.from_pandas(pandas.DataFrame(COLUMNS))


@tool
def from_pyarrow() -> pyarrow.Table:
    return pyarrow.Table.from_pandas(pandas.DataFrame(COLUMNS))


@tool
def from_batch() -> pyarrow.RecordBatch:
    return pyarrow.record_batch({"whole": [1, 2]})


@tool
def as_pandas(table: pandas.DataFrame) -> list[str]:
    pandas.testing.assert_frame_equal(
        table, pandas.DataFrame(COLUMNS), check_dtype=False
    )
    return [type(table).__module__, *map(str, table.columns)]


@tool
def as_polars(table: polars.DataFrame) -> list[str]:
    return [type(table).__module__, *table.columns]


@tool
def as_pyarrow(table: pyarrow.Table, batch: pyarrow.RecordBatch | None = None) -> int:
    assert type(table) is pyarrow.Table
    assert batch is None or type(batch) is pyarrow.RecordBatch
    table.validate(full=True)
    return table.num_rows + (0 if batch is None else batch.num_rows)


@tool
def kind_of(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


@tool
def mirrored(value: Any) -> Any:
    return value


@tool
def indexed() -> pandas.DataFrame:
    return pandas.DataFrame({"n": [1, 2]}, index=["first", "second"])


@tool
def index_of(table: pandas.DataFrame) -> list[str]:
    return list(table.index)


@tool
def with_field_object() -> polars.DataFrame:
    return polars.DataFrame({"n": [{"Object": 1}]})


@tool
def frames(count: int) -> Iterator[pandas.DataFrame]:
    for i in range(count):
        yield pandas.DataFrame({"n": numpy.full(50_000, i)})


@tool
def refused(what: str) -> Any:
    refusals: dict[str, Any] = {
        "objects": lambda: pandas.DataFrame({"good": [1], "bad": [object()]}),
        "mixed": lambda: pandas.DataFrame({"good": [1, 2], "bad": ["secret", 1]}),
        "too large": lambda: pandas.DataFrame({"good": [1], "bad": [2**70]}),
        "infinite": lambda: pandas.DataFrame(
            {"bad": [decimal.Decimal(1), decimal.Decimal("Infinity")]}
        ),
        "index": lambda: pandas.DataFrame({"good": [1]}, index=[object()]),
        "run ends": lambda: pyarrow.table(
            {"a": pyarrow.RunEndEncodedArray.from_arrays([3], [1])}
        ),
        "int128": lambda: polars.DataFrame(
            {"a": polars.Series([1], dtype=polars.Int128)}
        ),
        "twice": lambda: pandas.DataFrame([[1, 2]], columns=["bad", "bad"]),
        "polars": lambda: polars.DataFrame({"good": [1], "bad": [object()]}),
        "series": lambda: pandas.Series([1]),
        "lazy": lambda: polars.LazyFrame({"a": [1]}),
        "chunked": lambda: pyarrow.chunked_array([[1]]),
        "nulls": lambda: pyarrow.array([1, None]),
        "texts": lambda: pyarrow.array(["secret"]),
        "scalar": lambda: pyarrow.scalar(1),
        "integers": lambda: pandas.array([1, None]),
    }
    return refusals[what]()


@tool
def times() -> list[Any]:
    start = numpy.datetime64("2024-02-29T12:00", "ms")
    return [
        start + numpy.arange(3),
        numpy.array([1, "NaT"], "timedelta64[s]"),
        numpy.datetime64("2024-02-29T12:00:00.000001"),
        numpy.datetime64("2024-02-29"),
        pandas.Timestamp("2024-02-29T12:00", tz="Europe/Berlin"),
        pandas.Timestamp("2024-02-29T12:00"),
        numpy.timedelta64(90, "s"),
    ]


@tool
def later(times: numpy.ndarray[Any, numpy.dtype[numpy.datetime64]]) -> list[datetime]:
    moved: list[datetime] = (
        times.astype("M8[us]") + numpy.timedelta64(1, "h")
    ).tolist()
    return moved


@tool
def doubled(tensor: Tensor) -> Tensor:
    assert type(tensor) is Tensor
    return tensor + tensor


@tool
def of_complex() -> Tensor:
    return array_api_strict.asarray([[1j]])


@tool
def rows(count: int, as_records: bool) -> Any:
    """Returns four columns, as a table or as a list of dicts."""
    table = pandas.DataFrame(
        {
            "id": numpy.arange(count),
            "value": numpy.linspace(0, 1, count),
            "name": [f"name {i}" for i in range(count)],
            "at": pandas.date_range("2024-01-01", periods=count, freq="s"),
        }
    )
    return table.to_dict("records") if as_records else table
