"""Prints which libraries are imported after plain values have crossed, and after a table."""

import subprocess
import sys
from datetime import datetime, timedelta

from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode
from snakepit_bridge.values.value_not_transferable import ValueNotTransferable


def imported() -> list[str]:
    return sorted({"pandas", "polars", "pyarrow"} & sys.modules.keys())


decode(encode([1, {"a": (2.5, {3})}, datetime(2024, 1, 1), timedelta(1), b"x"]))
try:
    encode(object())
except ValueNotTransferable:
    print(imported())
other = (
    "import sys, pandas; from snakepit_bridge.values.encode import encode;"
    "sys.stdout.buffer.write(encode(pandas.DataFrame({'a': [1]})))"
)
decode(subprocess.check_output([sys.executable, "-c", other]))
print(imported())
