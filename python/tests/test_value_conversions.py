"""What arrives where the encoding has no such type, and what cannot be sent at all."""

from __future__ import annotations

import array
import collections
import dataclasses
import enum
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone, tzinfo
from typing import Any

import msgpack
import numpy
import pytest
from support.case_name import case_name

from snakepit_bridge import NdArray, ValueNotTransferable
from snakepit_bridge.values import kept_packer
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode


class Colour(enum.IntEnum):
    RED = 1


class Name(str):
    __slots__ = ()


class Frame:
    """Like a `pandas.DataFrame`: an array, and rows with names."""

    def to_numpy(self) -> object: ...

    def to_dict(self) -> object: ...


class NaTType:
    """Like that of `pandas.NaT`: a date that is missing, which numpy takes."""

    def to_numpy(self) -> object: ...


class Tensor:
    """Like that of torch."""

    def __init__(self, device: int, problem: str | None = None) -> None:
        self.device = device
        self.problem = problem
        self.array = numpy.arange(6, dtype="float32").reshape(2, 3)

    def cpu(self) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __dlpack__(self, **options: Any) -> Any:
        if self.problem is not None:
            raise BufferError(self.problem)
        return self.array.__dlpack__(**options)


class Chunks:
    """Like a column of pyarrow's."""

    def to_pylist(self) -> object: ...

    def to_numpy(self) -> object: ...


class Array(Chunks):
    """Like an array of pyarrow's, of which only some are tensors."""

    def __init__(self, problem: str | None) -> None:
        self.problem = problem

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.problem is None:
            raise ValueError("no such device")
        return 1, 0

    def __dlpack__(self, **options: Any) -> Any:
        raise TypeError(self.problem)


class Scalar:
    """Like a scalar of pyarrow's."""

    def as_py(self) -> object: ...


class Model:
    """Like a model of pydantic's."""

    def model_dump(self) -> object: ...


@dataclasses.dataclass
class Point:
    x: int


Pair = collections.namedtuple("Pair", "left right")


class Nowhere(tzinfo):
    """A zone without an offset."""

    def utcoffset(self, _: datetime | None) -> None: ...

    def dst(self, _: datetime | None) -> None: ...

    def tzname(self, _: datetime | None) -> None: ...


class Moment(datetime):
    """Like `pandas.Timestamp`."""


class Later:
    def __await__(self) -> Iterator[None]:
        yield


@pytest.mark.parametrize(
    ("value", "arrives"),
    [
        (bytearray(b"ab"), b"ab"),
        (memoryview(b"ab"), b"ab"),
        (frozenset({1}), {1}),
        (numpy.int8(-3), -3),
        (numpy.uint64(2**64 - 1), 2**64 - 1),
        (numpy.float32(0.5), 0.5),
        (numpy.float64(0.1), 0.1),
        (numpy.bool_(True), True),
        (numpy.str_("a"), "a"),
        (numpy.datetime64("2024-02-29"), date(2024, 2, 29)),
        (numpy.datetime64("2024-02"), date(2024, 2, 1)),
        (numpy.datetime64("2024-02-29T12", "h"), datetime(2024, 2, 29, 12)),
        (
            numpy.datetime64("2024-02-29T12:30:15.123456789"),
            datetime(2024, 2, 29, 12, 30, 15, 123456),
        ),
        (collections.OrderedDict(a=1), {"a": 1}),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        (Name("n"), "n"),
        ({Name("k"): 1}, {"k": 1}),
        (Moment(2024, 1, 1, 12, 0, 0, 5), datetime(2024, 1, 1, 12, 0, 0, 5)),
        (
            Moment(1969, 1, 1, 12, 0, 0, 5, tzinfo=timezone.utc),
            datetime(1969, 1, 1, 12, 0, 0, 5, tzinfo=timezone.utc),
        ),
        (
            datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=2))),
            datetime(2024, 1, 1, 10, tzinfo=timezone.utc),
        ),
    ],
    ids=case_name,
)
def test_a_relative_of_a_type_arrives_as_that_type(value: Any, arrives: Any) -> None:
    back = decode(encode({"v": [value]}))["v"][0]
    assert back == arrives
    assert type(back) is type(arrives)


@pytest.mark.parametrize(
    ("value", "path", "remedy"),
    [
        (object(), "$.a[1]", "plain data"),
        (iter([1]), "$.a[1]", "generator"),
        (Later(), "$.a[1]", "await it in an async function"),
        (array.array("i", [1]), "$.a[1]", "plain data"),
        (numpy.array(["x"]), "$.a[1]", "astype()"),
        (numpy.array([None]), "$.a[1]", "astype()"),
        (numpy.ma.masked_array([1], [True]), "$.a[1]", "filled()"),
        (numpy.datetime64("NaT"), "$.a[1]", "None in its place"),
        (numpy.array(["NaT"], "datetime64"), "$.a[1]", "astype()"),
        (Tensor(2), "$.a[1]", "send .cpu() of it"),
        (Tensor(1, "requires grad"), "$.a[1]", "numpy cannot read: requires grad"),
        (Array("has nulls."), "$.a[1]", "has nulls; send .to_pylist() of it"),
        (Array(None), "$.a[1]", "no such device; send .to_pylist() of it"),
        (Chunks(), "$.a[1]", "send .to_pylist() of it"),
        (Scalar(), "$.a[1]", "send .as_py() of it"),
        (numpy.longdouble(1), "$.a[1]", "send float() of it"),
        (numpy.void(b"ab"), "$.a[1]", "send .item() of it"),
        (Frame(), "$.a[1]", "its to_dict()"),
        (NaTType(), "$.a[1]", "None in its place"),
        (datetime(2024, 1, 1, tzinfo=Nowhere()), "$.a[1]", "no offset from UTC"),
        ((1, datetime(2024, 1, 1, tzinfo=Nowhere())), "$.a[1][1]", "no offset"),
        ("\ud800", "$.a[1]", "surrogate"),
        ({"\ud800": 1}, '$.a[1]["\\ud800"]', "surrogate"),
        ({"b c": {"d": object()}}, '$.a[1]["b c"].d', "plain data"),
        ({7: object()}, "$.a[1][7]", "plain data"),
        ({(1, 2): object()}, "$.a[1]<value 0>", "plain data"),
        ({object: 1}, "$.a[1]<key 0>", "plain data"),
        ((1, object()), "$.a[1][1]", "plain data"),
        ((1, ["\udfff"]), "$.a[1][1][0]", "surrogate"),
    ],
    ids=case_name,
)
def test_what_has_no_image_is_refused_with_its_path(
    value: Any, path: str, remedy: str
) -> None:
    with pytest.raises(ValueNotTransferable) as caught:
        encode({"a": [0, value]})
    assert caught.value.path == path
    assert remedy in str(caught.value)


@pytest.mark.parametrize(
    "mixed",
    [
        [datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=timezone.utc)],
        [datetime(2024, 1, 1), Moment(2024, 1, 2)],
        [datetime(2024, 1, 1), None],
        [datetime(2024, 1, 1), [datetime(2024, 1, 1)], {"a": datetime(2024, 1, 1)}],
    ],
)
def test_a_list_of_dates_and_other_values_arrives_as_it_was(mixed: Any) -> None:
    assert decode(encode(mixed)) == mixed


def test_a_cycle_is_called_a_cycle() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(ValueNotTransferable, match="contains itself"):
        encode(cycle)


def test_101_levels_are_too_many() -> None:
    value: list[Any] = []
    for _ in range(100):
        value = [value]
    with pytest.raises(ValueNotTransferable, match="100 levels"):
        encode(value)


@pytest.mark.parametrize(
    ("wire", "path", "problem"),
    [
        ("91c7030791" + "91c0", "$[0][0]", "cannot be in a set"),
        ("d605929101c0", "$<key 0>", "cannot be a key"),
        ("d6079301c301", "$[1]", "equals another item"),
        ("c7050594" + "01c0c3c0", "$<key 1>", "equals another key"),
        ("81a161c70cff000000000000010000000000", "$.a", "years 1 to 9999"),
        ("92d6ff0000000081a161d7047fffffffffffffff", "$[1].a", "years 1 to 9999"),
        ("91d40863", "$[0]", "without dtype"),
    ],
)
def test_what_python_cannot_hold_is_refused_with_its_path(
    wire: str, path: str, problem: str
) -> None:
    with pytest.raises(ValueNotTransferable, match=problem) as caught:
        decode(bytes.fromhex(wire))
    assert caught.value.path == path


def test_an_array_arrives_as_nd_array_where_numpy_is_missing() -> None:
    program = (
        "import sys; sys.modules['numpy'] = None\n"
        "from snakepit_bridge.values.decode import decode\n"
        "from snakepit_bridge.values.encode import encode\n"
        "value = decode(bytes.fromhex(sys.argv[1]))\n"
        "print(value, encode(value).hex())\n"
    )
    wire = encode(numpy.arange(3, dtype="int8")).hex()
    output = subprocess.check_output([sys.executable, "-c", program, wire], text=True)
    assert output == f"NdArray('int8', (3,), 3 bytes) {wire}\n"


def test_a_tensor_in_the_memory_of_the_processor_arrives_as_an_array() -> None:
    back = decode(encode([Tensor(1)]))[0]
    assert back.dtype == "float32"
    assert back.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_numpy_is_not_imported_for_values_that_need_none() -> None:
    program = (
        "import sys\n"
        "from snakepit_bridge.values.decode import decode\n"
        "from snakepit_bridge.values.encode import encode\n"
        "decode(encode([1, {'a': (2.5, {3})}]))\n"
        "print('numpy' in sys.modules)\n"
    )
    output = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert output == "False\n"


@pytest.mark.parametrize(
    ("dtype", "shape", "data", "problem"),
    [
        ("int9", [1], b"1", "no dtype"),
        ("int8", [2], b"1", "needs 2 bytes"),
        ("int8", [-1], b"", "whole numbers"),
    ],
)
def test_an_nd_array_that_does_not_fit_itself_is_refused(
    dtype: str, shape: list[int], data: bytes, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        NdArray(dtype, shape, data)


@pytest.mark.parametrize("bad", [["a", 2**70], {"a": [1, 2**70]}, ["a", "\ud800"]])
def test_what_could_not_be_packed_leaves_nothing_for_the_next_value(bad: Any) -> None:
    try:
        arrived = decode(encode(bad))
    except ValueNotTransferable as error:
        assert str(error).startswith("$[1]")
    else:
        assert arrived == bad
    assert encode({"b": [2]}) == msgpack.packb({"b": [2]})


def test_the_memory_of_a_large_value_is_not_kept() -> None:
    encode(["small"])
    kept = kept_packer._packers.pack
    encode(["small again"])
    assert kept_packer._packers.pack is kept
    encode(["x" * 100_000])
    assert kept_packer._packers.pack is not kept
