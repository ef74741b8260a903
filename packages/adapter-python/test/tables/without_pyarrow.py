"""Prints what becomes of tables where libraries are missing."""

import sys
from collections.abc import Callable

# What an import finds of a package that is not installed.
sys.modules["pyarrow"] = None  # type: ignore[assignment]

import pandas
import polars
from snakepit_bridge.tools.annotations.library_types import library_check
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode


def show(action: Callable[[], object]) -> None:
    try:
        value = action()
        print(f"{type(value).__module__}.{type(value).__qualname__}")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is shown
        print(error)


check = library_check(pandas.DataFrame)
assert check is not None
encoding = encode(polars.DataFrame({"a": [1]}))
show(lambda: decode(encoding))
show(lambda: check.check(decode(encoding), None))
show(lambda: encode(pandas.DataFrame({"a": [1]})))
sys.modules["polars"] = None  # type: ignore[assignment]
show(lambda: decode(encoding))
