"""Tables of pandas, polars and pyarrow, as streams of Arrow's IPC format.

A library is imported only to hold a table that arrived; a table that a tool returns has
imported its own.
"""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Callable
from typing import Any

# What a table can be in Python: modules and their classes.
TABLES = (
    ("pandas", "DataFrame"),
    ("polars", "DataFrame"),
    ("pyarrow", "Table"),
    ("pyarrow", "RecordBatch"),
)


def is_table(value: object) -> bool:
    """Returns whether a value is a table; imports nothing."""
    return any(_is(value, *table) for table in TABLES)


def table_bytes(table: Any) -> memoryview:
    """Returns the IPC stream of a table.

    Raises:
        ValueError: Arrow cannot hold it; the text names the column.
    """
    if _is(table, "polars", "DataFrame"):
        return _polars_bytes(table)
    if _is(table, "pandas", "DataFrame"):
        table = _from_pandas(table)
    pyarrow = _imported("pyarrow", "the table")
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write(table)
    return memoryview(sink.getvalue())


def revive_table(data: bytes | memoryview) -> object:
    """Returns a `pyarrow.Table` over `data`; a `polars.DataFrame` where there is no pyarrow.

    Raises:
        ValueError: neither can be imported, or the bytes are not an IPC stream.
    """
    library = (
        _optional("pyarrow") or _optional("polars") or _imported("pyarrow", "a table")
    )
    try:
        if library.__name__ == "polars":
            return library.read_ipc_stream(io.BytesIO(data))
        return library.ipc.open_stream(library.py_buffer(data)).read_all()
    except Exception as error:  # noqa: BLE001 - both libraries have many
        raise ValueError(f"is a table that cannot be read: {error}"[:300]) from None


def table_of_rows(rows: list[dict[str, Any]]) -> object:
    """Returns a `pyarrow.Table`.

    Raises:
        ValueError: pyarrow cannot be imported, or a column has values of several types.
    """
    pyarrow = _imported("pyarrow", "a table")
    try:
        return pyarrow.Table.from_pylist(rows)
    except pyarrow.ArrowException as error:
        raise ValueError(str(error)) from None


def table_as(table: Any, module: str, name: str) -> object:
    """Returns a table that arrived as an instance of one of `TABLES`.

    Raises:
        ValueError: the libraries for it cannot be imported, or it cannot be converted.
    """
    if _is(table, module, name):
        return table
    try:
        if _is(table, "polars", "DataFrame"):
            _imported("pyarrow", f"a {module}.{name}")
            table = table.to_arrow()
        if module == "polars":
            return _imported("polars", "a polars.DataFrame").from_arrow(table)
        if module == "pandas":
            _imported("pandas", "a pandas.DataFrame")
            return table.to_pandas()
        if name == "RecordBatch":
            return _one_batch(table)
    except _Missing:
        raise
    except Exception as error:  # noqa: BLE001 - the libraries have many
        raise ValueError(
            f"is a table that cannot become a {module}.{name}: {error}"[:300]
        ) from None
    return table


class _Missing(ValueError):
    """A library that a table needs cannot be imported."""


def _optional(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


def _imported(module: str, what: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise _Missing(
            f"needs {module}, which cannot be imported ({error}); "
            f"install it for {what}: pip install {module}"
        ) from None


def _is(value: object, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(value, kind)


def _from_pandas(table: Any) -> Any:
    pyarrow = _imported("pyarrow", "a pandas.DataFrame")
    try:
        return pyarrow.Table.from_pandas(table)
    except Exception:  # noqa: BLE001 - it has many
        # Its texts may have values, which may be secret, and some have no column.
        raise ValueError(
            f"is a pandas.DataFrame {_problem(pyarrow.Table.from_pandas, table)}"
        ) from None


def _problem(convert: Callable[[Any], object], table: Any) -> str:
    twice = table.columns[table.columns.duplicated()]
    if len(twice) > 0:
        return f"with two columns {twice[0]!r}; rename one"
    for i, name in enumerate(table.columns):
        column = table.iloc[:, [i]].reset_index(drop=True)
        try:
            convert(column)
        except Exception:  # noqa: BLE001 - it has many
            return (
                f"whose column {name!r} of type {column.dtypes.iloc[0]} Arrow cannot hold; "
                "give that column one type, as with astype(), or leave it out"
            )
    return "whose index Arrow cannot hold; send reset_index(drop=True) of it"


def _polars_bytes(table: Any) -> memoryview:
    # polars writes them as a stream that nothing can read.
    kind = sys.modules["polars"].Object
    objects = [name for name, dtype in table.schema.items() if dtype == kind]
    if objects:
        raise ValueError(
            f"is a polars.DataFrame whose column {objects[0]!r} is of type Object, which "
            "Arrow cannot hold; give that column another type, or leave it out"
        )
    sink = io.BytesIO()
    table.write_ipc_stream(sink)
    return sink.getbuffer()


def _one_batch(table: Any) -> Any:
    pyarrow = _imported("pyarrow", "a pyarrow.RecordBatch")
    batches = table.combine_chunks().to_batches()
    if len(batches) > 1:
        raise ValueError(f"it has {table.num_rows} rows, too many for one batch")
    if batches:
        return batches[0]
    return pyarrow.RecordBatch.from_pylist([], schema=table.schema)
