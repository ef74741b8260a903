"""Errors about what cannot be sent to the host."""

from __future__ import annotations

from snakepit_bridge.values.value_not_transferable import Path, Refused

# What to do with a column of pyarrow's.
LIST_OF_ARROW = (
    "send .to_pylist() of it, or a table: pyarrow.table({'column': ...}) with it"
)

# By the kind of a scalar of numpy's of which no array can be sent either.
_OF_SCALARS = {"f": "float()", "V": ".item()"}


def not_transferable(value: object, path: Path) -> Refused:
    """Returns the error about a value of a type that cannot be sent."""
    kind = type(value)
    name = kind.__qualname__
    if kind.__module__ != "builtins":
        name = f"{kind.__module__}.{name}"
    return Refused(
        path, f"has the type {name}, which cannot be sent to the host; {_remedy(value)}"
    )


def _kind_of(value: object) -> str:
    return getattr(getattr(value, "dtype", None), "kind", "")


def _remedy(value: object) -> str:
    if type(value).__module__ == "snakepit_bridge.tools.stream_result":
        # A `Result`, which this module does not import.
        return (
            "only asynchronous generators yield it, as the last item; return its value"
        )
    if type(value).__name__ in ("NaTType", "NAType"):
        return "send None in its place"
    if hasattr(value, "to_pylist"):
        return LIST_OF_ARROW
    if hasattr(value, "as_py"):
        return "send .as_py() of it"
    if hasattr(value, "to_frame"):
        return "send its .to_frame(), a table of one column, or its .to_numpy()"
    if hasattr(value, "collect_schema"):
        return "send its .collect()"
    if hasattr(value, "to_numpy") and hasattr(value, "to_dict"):
        return "send it as a numpy array, or its to_dict()"
    library = type(value).__module__.partition(".")[0]
    if library == "pandas" and hasattr(value, "__array__"):
        # As an array of numpy's it may be one of objects.
        return "send a pandas.DataFrame with it as a column"
    if library == "numpy" and (instead := _OF_SCALARS.get(_kind_of(value))):
        return f"send {instead} of it"
    if hasattr(value, "__array__") or hasattr(value, "to_numpy"):
        return "send it as a numpy array"
    if hasattr(value, "__await__"):
        return "await it in an async function and send the result"
    if hasattr(value, "__next__") or hasattr(value, "__anext__"):
        return "send list() of it, make the tool a generator, or call it with stream()"
    return "send plain data, such as str() of it or its fields as a dict, or declare an @encoder"
