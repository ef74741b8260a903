"""The table behind `proto/testdata/values.json`, which both languages test against.

Written anew with `python -m support.value_vectors`, in `python/tests`.
"""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

from snakepit_bridge import NdArray
from snakepit_bridge.values.encode import encode

FILE = Path(__file__).resolve().parents[3] / "proto" / "testdata" / "values.json"


class Vector(NamedTuple):
    """A value and its image.

    Without `wire` the image is what `encode` makes of `python`. With it, and
    with `python`, the image is one that Python reads but would not write. With
    `refused`, no side may read it.
    """

    name: str
    python: str
    description: str
    wire: str = ""
    refused: bool = False


def _array(dtype: str, shape: list[int], data: bytes) -> str:
    return f"NdArray({dtype!r}, {shape!r}, bytes.fromhex({data.hex()!r}))"


VECTORS = [
    Vector("null", "None", "nil"),
    Vector("true", "True", "a boolean, not 1"),
    Vector("false", "False", "a boolean, not 0"),
    *(
        Vector(f"integer {number}", str(number), "in the shortest format")
        for number in (0, 1, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32)
    ),
    *(
        Vector(f"integer {number}", str(number), "in the shortest format")
        for number in (-1, -32, -33, -128, -129, -32768, -32769, -(2**31), -(2**31) - 1)
    ),
    Vector("largest safe integer", str(2**53 - 1), "still a number in JavaScript"),
    Vector("smallest safe integer", str(-(2**53) + 1), "still a number in JavaScript"),
    Vector("first unsafe integer", str(2**53), "a bigint in JavaScript"),
    Vector("last unsafe integer", str(-(2**53)), "a bigint in JavaScript"),
    Vector("largest 64-bit integer", str(2**64 - 1), "the last without extension"),
    Vector("smallest 64-bit integer", str(-(2**63)), "the last without extension"),
    Vector("first big integer", str(2**64), "extension 1, a zero byte for the sign"),
    Vector("last big integer", str(-(2**63) - 1), "extension 1, a ff byte in front"),
    Vector("big integer, 8 bit edge", str(-(2**71)), "no byte more than is needed"),
    Vector("big integer, above the edge", str(2**71), "one byte more for the sign"),
    Vector("huge integer", str(3**200), "any size"),
    Vector("huge negative integer", str(-(3**200)), "any size"),
    Vector("float 1.0", "1.0", "64 bits; in JavaScript the number 1"),
    Vector("float 0.1", "0.1", "64 bits"),
    Vector("negative zero", "-0.0", "64 bits, with its sign"),
    Vector("NaN", "float('nan')", "64 bits"),
    Vector("infinity", "float('inf')", "64 bits"),
    Vector("negative infinity", "-float('inf')", "64 bits"),
    Vector("smallest float", "5e-324", "64 bits, subnormal"),
    Vector("empty text", "''", "str"),
    Vector("text of 31 bytes", repr("x" * 31), "the last in one byte of header"),
    Vector("text of 32 bytes", repr("x" * 32), "str 8"),
    Vector("text of 256 bytes", repr("x" * 256), "str 16"),
    Vector("text in UTF-8", ascii("größer 日本 🐍"), "two, three and four bytes"),
    Vector("text with a zero", r"'a\x00b'", "no terminator"),
    Vector("empty bytes", "b''", "bin 8"),
    Vector("bytes", r"b'\x00\x01\xfe\xff'", "bin 8"),
    Vector("empty list", "[]", "array"),
    Vector("list", "[1, 'two', None, [3.5]]", "array, mixed and nested"),
    Vector("list of 16", repr(list(range(16))), "array 16"),
    Vector("empty map", "{}", "map"),
    Vector("map", "{'b': 1, 'a': {'c': [True]}}", "in the order that it has"),
    Vector("empty key", "{'': 1}", "a text key like any other"),
    Vector("map of numbers", "{1: 'one', -2: 'minus two'}", "extension 5"),
    Vector("map of mixed keys", "{None: 0, True: 1, 'a': 2, 1.5: 3}", "extension 5"),
    Vector("map of tuples", "{(1, 2): 'a'}", "extension 5 with extension 6 inside"),
    Vector("__proto__", "{'__proto__': 1}", "extension 5, for safety"),
    Vector("instant", "datetime(2024, 2, 29, 12, 30, 15, 123456, utc)", "extension -1"),
    Vector("instant of whole ms", "datetime(2024, 1, 1, 0, 0, 0, 5000, utc)", "exact"),
    Vector("epoch", "datetime(1970, 1, 1, 0, 0, 0, 0, utc)", "extension -1 of 4 bytes"),
    Vector(
        "instant before the epoch",
        "datetime(1969, 12, 31, 23, 59, 59, 999999, utc)",
        "negative; in JavaScript rounded down",
    ),
    Vector("first instant", "datetime(1, 1, 1, 0, 0, 0, 0, utc)", "Python's first"),
    Vector(
        "last instant", "datetime(9999, 12, 31, 23, 59, 59, 999999, utc)", "its last"
    ),
    Vector("date", "date(2024, 2, 29)", "extension 3"),
    Vector("first date", "date(1, 1, 1)", "four digits of a year"),
    Vector("date and time", "datetime(2024, 2, 29, 12, 30, 15)", "extension 4"),
    Vector(
        "date and time with microseconds",
        "datetime(2024, 2, 29, 12, 30, 15, 120)",
        "extension 4",
    ),
    Vector("first date and time", "datetime(1, 1, 1)", "extension 4, negative"),
    Vector(
        "dates and times",
        "[datetime(1, 1, 1), datetime(2024, 2, 29, 12, 30, 15, 120), "
        "datetime(9999, 12, 31, 23, 59, 59, 999999)]",
        "extension 10 with three timestamps",
    ),
    Vector("empty tuple", "()", "extension 6"),
    Vector("tuple", "(1, 'a', (2.5,))", "extension 6, nested"),
    Vector("empty set", "set()", "extension 7"),
    Vector("set", "{'a'}", "extension 7; of more items the order is free"),
    Vector("array of bool", _array("bool", [2], b"\1\0"), "extension 8"),
    Vector("array of int8", _array("int8", [2], b"\x80\x7f"), "extension 8"),
    Vector(
        "array of int16", _array("int16", [1], b"\1\2"), "extension 8, little-endian"
    ),
    Vector("array of int32", _array("int32", [1], b"\1\2\3\4"), "extension 8"),
    Vector("array of int64", _array("int64", [1], bytes(range(8))), "extension 8"),
    Vector("array of uint8", _array("uint8", [3], b"\0\1\xff"), "extension 8"),
    Vector("array of uint16", _array("uint16", [1], b"\1\2"), "extension 8"),
    Vector("array of uint32", _array("uint32", [1], b"\1\2\3\4"), "extension 8"),
    Vector("array of uint64", _array("uint64", [1], bytes(range(8))), "extension 8"),
    Vector("array of float16", _array("float16", [1], b"\0\x3c"), "extension 8: 1"),
    Vector(
        "array of float32", _array("float32", [1], b"\0\0\x80\x3f"), "extension 8: 1"
    ),
    Vector(
        "array of float64",
        _array("float64", [2, 1], b"\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40"),
        "extension 8: 1 and 2, two dimensions",
    ),
    Vector(
        "array of complex64",
        _array("complex64", [1], b"\0\0\x80\x3f\0\0\0\x40"),
        "extension 8: 1+2j",
    ),
    Vector(
        "array of complex128",
        _array("complex128", [1], b"\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40"),
        "extension 8: 1+2j",
    ),
    Vector("array of no dimension", _array("int8", [], b"\7"), "one element"),
    Vector("empty array", _array("float32", [0, 3], b""), "no element"),
    Vector("everything nested", "{'a': [({1: {'b'}},)]}", "each within another"),
    Vector("100 levels", "[" * 100 + "]" * 100, "as deep as is allowed"),
    Vector("float 32", "1.5", "read, never written", "ca3fc00000"),
    Vector("long integer", "1", "in a longer format than needed", "d30000000000000001"),
    Vector("small big integer", "5", "extension 1 without need", "d40105"),
    Vector("lone 0xc1", "", "a format that nothing has", "c1", refused=True),
    Vector("nothing", "", "no value at all", "", refused=True),
    Vector("cut short", "", "a list of two with one item", "9201", refused=True),
    Vector("two values", "", "one value and more bytes", "0102", refused=True),
    Vector("bad UTF-8", "", "text of the byte ff", "a1ff", refused=True),
    Vector("lone surrogate", "", "U+D800 as UTF-8 never is", "a3eda080", refused=True),
    Vector("unknown extension", "", "extension 99", "d46300", refused=True),
    Vector("instant of 5 bytes", "", "no timestamp", "c705ff0000000000", refused=True),
    Vector(
        "too many nanoseconds",
        "",
        "a timestamp with 2**30 - 1",
        "d7ffffffffff00000000",
        refused=True,
    ),
    Vector("date and time of 4 bytes", "", "short", "d60400000000", refused=True),
    Vector("a number as dates", "", "extension 10 around 1", "d40a01", refused=True),
    Vector(
        "a number among dates",
        "",
        "extension 10: a list of 1",
        "d50a9101",
        refused=True,
    ),
    Vector(
        "no such date",
        "",
        "2023-02-29",
        "c70a03" + b"2023-02-29".hex(),
        refused=True,
    ),
    Vector("odd map", "", "extension 5: a key without value", "d5059101", refused=True),
    Vector("tuple of nothing", "", "extension 6 around nil", "d406c0", refused=True),
    Vector(
        "array too short",
        "",
        "extension 8: int16, one element, one byte",
        "c70c0893a5696e743136910" + "1c40100",
        refused=True,
    ),
]

_NAMES: dict[str, Any] = {
    "NdArray": NdArray,
    "date": date,
    "datetime": datetime,
    "utc": timezone.utc,
    "timedelta": timedelta,
}


def value_of(vector: Vector) -> Any:
    """Returns the value of a vector."""
    return eval(vector.python, dict(_NAMES))


def vectors_text() -> str:
    """Returns what the file holds."""
    rows = []
    for vector in VECTORS:
        row: dict[str, Any] = {"name": vector.name, "description": vector.description}
        if vector.refused:
            row["refused"] = True
            row["wire_hex"] = vector.wire
        elif vector.wire:
            row |= {"python": vector.python, "read_only": True, "wire_hex": vector.wire}
        else:
            wire = encode(value_of(vector)).hex()
            row |= {"python": vector.python, "wire_hex": wire}
        rows.append(row)
    return json.dumps(rows, indent="\t", ensure_ascii=True) + "\n"


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(vectors_text(), encoding="utf-8")
