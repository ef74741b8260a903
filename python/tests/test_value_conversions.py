"""What arrives where the encoding has no such type, and what cannot be sent at all."""

from __future__ import annotations

import array
import collections
import dataclasses
import enum
import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Annotated, Any, Literal

import jsonschema
import msgpack
import numpy
import pytest
from annotated_types import Ge, Le, MultipleOf
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field
from support.case_name import case_name
from support.signatures import taking

import snakepit_bridge.values.decode as decoding
from snakepit_bridge import NdArray, ValueNotTransferable
from snakepit_bridge.cli.call import from_json, to_json
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.signature import Signature
from snakepit_bridge.typescript.type_writer import TypeWriter
from snakepit_bridge.values import extension_types as ext
from snakepit_bridge.values import kept_packer
from snakepit_bridge.values.decode import decode, read_short
from snakepit_bridge.values.encode import encode
from snakepit_bridge.values.kept_packer import pack_short


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


def test_101_levels_are_too_many() -> None:
    value: list[Any] = []
    for _ in range(100):
        value = [value]
    with pytest.raises(ValueNotTransferable, match="100 levels"):
        encode(value)


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


# -------------- Where a part is that cannot cross, and how deep a value may be


class Level(enum.Enum):
    LOW = 1


class Letter(enum.Enum):
    A = "a"


@dataclasses.dataclass
class Node:
    part: Any


class Port(int): ...


class Degrees(float): ...


class Apart(str):
    """Equals only itself."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class Row(list[Any]): ...


class Record(dict[Any, Any]): ...


def extension(code: int, data: bytes) -> bytes:
    packed: bytes = msgpack.packb(msgpack.ExtType(code, data))
    return packed


UNKNOWN = extension(99, b"\0")
# Around the encoding of one value: a list, a map, a tuple, and the value of a map of others.
AROUND: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "list": (lambda inner: b"\x91" + inner, "[0]"),
    "dict": (lambda inner: b"\x81\xa1a" + inner, ".a"),
    "tuple": (lambda inner: extension(ext.TUPLE, b"\x91" + inner), "[0]"),
    "map": (lambda inner: extension(ext.MAP, b"\x92\x01" + inner), "[1]"),
}


def nested(kind: str, levels: int) -> bytes:
    """Returns the encoding of so many containers within each other, the last an empty tuple."""
    around, _ = AROUND[kind]
    encoding = extension(ext.TUPLE, b"\x90")
    for _ in range(levels - 1):
        encoding = around(encoding)
    return encoding


@pytest.mark.parametrize("kind", AROUND)
def test_a_hundred_levels_are_read_and_one_more_is_refused_with_its_path(
    kind: str,
) -> None:
    decode(nested(kind, 100))
    _, place = AROUND[kind]
    for levels in (101, 102):
        with pytest.raises(
            ValueNotTransferable, match="more than 100 levels deep"
        ) as caught:
            decode(nested(kind, levels))
        assert caught.value.path == "$" + 100 * place


def test_the_levels_of_a_key_count_too() -> None:
    decode(extension(ext.MAP, b"\x92" + nested("tuple", 99) + b"\x01"))
    with pytest.raises(
        ValueNotTransferable, match="more than 100 levels deep"
    ) as caught:
        decode(extension(ext.MAP, b"\x92" + nested("tuple", 100) + b"\x01"))
    assert caught.value.path == "$<key 0>" + 99 * "[0]"


def test_the_levels_in_a_tuple_count_without_an_extension_in_them() -> None:
    decode(extension(ext.TUPLE, 99 * b"\x91" + b"\x90"))
    with pytest.raises(ValueNotTransferable, match="more than 100 levels deep"):
        decode(extension(ext.TUPLE, 100 * b"\x91" + b"\x90"))


# Before it come many others, none, and text whose bytes could begin lists.
_BEFORE = {"many": list(range(2_000)), "none": None, "text": 50 * "\u0411\u0441"}


@pytest.mark.parametrize("before", _BEFORE)
@pytest.mark.parametrize(("opening", "place"), [(b"\x91", "[0]"), (b"\x81\xa1a", ".a")])
def test_plain_lists_and_maps_have_a_hundred_levels_too(
    before: str, opening: bytes, place: str
) -> None:
    head = b"\x92" + msgpack.packb(_BEFORE[before])
    read = decode(head + 98 * opening + b"\x91\x07")
    assert read[0] == _BEFORE[before]
    for levels in (100, 101, 1100):
        with pytest.raises(
            ValueNotTransferable, match="more than 100 levels deep"
        ) as caught:
            decode(head + (levels - 1) * opening + b"\x91\x07")
        # msgpack itself stops at 1,024 levels, and does not say where.
        path = "$" if levels > 1024 else "$[1]" + 99 * place
        assert caught.value.path == path


def test_the_levels_count_where_msgpack_is_written_in_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decoding, "_IS_IN_C", False)
    decode(99 * b"\x91" + b"\x90")
    with pytest.raises(ValueNotTransferable, match="more than 100 levels deep"):
        decode(100 * b"\x91" + b"\x90")


def test_a_set_in_a_set_or_in_a_key_arrives_frozen() -> None:
    inner = extension(ext.SET, b"\x92\x01\x02")
    pair = extension(ext.TUPLE, b"\x92\x07" + inner)
    frozen = frozenset({1, 2})
    assert decode(extension(ext.SET, b"\x92" + inner + pair)) == {frozen, (7, frozen)}
    read = decode(extension(ext.MAP, b"\x92" + inner + inner))
    assert [*map(type, [*read, *read.values()])] == [frozenset, set]
    assert type(decode(extension(ext.TUPLE, b"\x91" + inner))[0]) is set
    for value in ({frozen}, {frozen: {1}}, {(frozen, 7)}, {frozenset({frozen})}):
        assert decode(encode(value)) == value


@pytest.mark.parametrize(
    ("encoding", "path"),
    [
        (b"\x92\x00" + UNKNOWN, "[1]"),
        (b"\x81\xa3b c" + UNKNOWN, '["b c"]'),
        (extension(ext.TUPLE, b"\x92\x00" + UNKNOWN), "[1]"),
        (extension(ext.SET, b"\x92\x00" + UNKNOWN), "[1]"),
        (extension(ext.MAP, b"\x92" + UNKNOWN + b"\x00"), "<key 0>"),
        (extension(ext.MAP, b"\x92\xa1a" + UNKNOWN), '["a"]'),
        (
            extension(ext.MAP, b"\x94" + b"\x00\x00" + nested("tuple", 1) + UNKNOWN),
            "<value 1>",
        ),
    ],
)
def test_a_part_that_is_unknown_is_refused_with_its_path(
    encoding: bytes, path: str
) -> None:
    for before, around in (("$", encoding), ("$[0].c", b"\x91\x81\xa1c" + encoding)):
        with pytest.raises(
            ValueNotTransferable, match="of extension type 99"
        ) as caught:
            decode(around)
        assert caught.value.path == before + path


@pytest.mark.parametrize(
    ("encoding", "path", "problem"),
    [
        (b"\xc1", "", "is not a value encoding: FormatError$"),
        (b"\x81\x01\x02", "", "is not a value encoding: ValueError int"),
        (extension(ext.TUPLE, b"\xa1a"), "", "should hold an array"),
        (extension(ext.MAP, b"\x91\x00"), "", "whose last key has no value"),
        (
            extension(ext.SET, b"\x91\x90"),
            "[0]",
            "of type list, which cannot be in a set",
        ),
        (
            extension(ext.SET, b"\x92\x01\xc3"),
            "[1]",
            "equals another item in Python: True",
        ),
        (
            extension(ext.MAP, b"\x92\x80\x00"),
            "<key 0>",
            "of type dict, which cannot be a",
        ),
        (
            extension(ext.MAP, b"\x94\x01\0\xc3\0"),
            "<key 1>",
            "equals another key .* True",
        ),
        (b"\x81\xc4\x01a" + nested("tuple", 1), "", "has a key that is not text"),
        (
            extension(ext.SET, b"\x92\x01" + extension(ext.TUPLE, b"\x91\x90")),
            "[1]",
            "which cannot be in a set",
        ),
        (
            extension(ext.MAP, b"\x92" + extension(ext.SET, b"\x91\x80") + b"\x01"),
            "<key 0>[0]",
            "which cannot be in a set",
        ),
        (
            bytes.fromhex("81a161c70cff000000000000010000000000"),
            ".a",
            "years 1 to 9999",
        ),
        (bytes.fromhex("92d6ff0000000081a161d7047fffffffffffffff"), "[1].a", "years 1"),
        (bytes.fromhex("91d40863"), "[0]", "without dtype"),
    ],
)
def test_what_is_no_value_is_refused_with_its_path(
    encoding: bytes, path: str, problem: str
) -> None:
    with pytest.raises(ValueNotTransferable, match=problem) as caught:
        decode(encoding)
    assert caught.value.path == "$" + path


@pytest.mark.parametrize("value", [None, 1, "a", 2**70, [{"a": 1.5}], {}])
def test_a_short_image_is_read_at_once(value: Any) -> None:
    assert read_short(encode(value)) == value


def test_what_is_not_short_or_has_parts_is_left_to_the_whole_decoder() -> None:
    assert read_short(encode("x" * 5_000)) is None
    assert read_short(encode((1,))) is None
    assert read_short(b"") == {}


@settings(max_examples=50)
@given(st.integers(min_value=2**64) | st.integers(max_value=-(2**63) - 1))
def test_a_big_integer_takes_no_byte_more_than_it_needs(value: int) -> None:
    packed = msgpack.unpackb(encode(value))
    assert packed.code == ext.BIG_INTEGER

    def fits(size: int) -> bool:
        return -(1 << 8 * size - 1) <= value < 1 << 8 * size - 1

    assert fits(len(packed.data))
    assert not fits(len(packed.data) - 1)
    assert decode(encode(value)) == value


@pytest.mark.parametrize("bits", [71, 72, 79, 80])
def test_a_big_integer_at_the_edge_of_a_byte(bits: int) -> None:
    sizes = [len(msgpack.unpackb(encode(n)).data) for n in (2**bits - 1, 2**bits)]
    assert sizes == [bits // 8 + 1, bits // 8 + 1 if bits % 8 < 7 else bits // 8 + 2]


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (Row([1, object()]), "[1]"),
        (Row([Row([object()])]), "[0][0]"),
        (Record(b=object()), ".b"),
        ({("\ud800", 1)}, "[0][0]"),
        ({"\ud800"}, "[0]"),
        ({7: "\ud800"}, "[7]"),
        ({7: 1, None: object()}, "[None]"),
        ({frozenset({object}): 1}, "<key 0>[0]"),
        (Node(object()), ".part"),
        (collections.deque([0, object()]), "[1]"),
    ],
)
def test_a_part_of_a_relative_of_a_container_has_its_path(
    value: Any, path: str
) -> None:
    with pytest.raises(ValueNotTransferable) as caught:
        encode({"a": [0, value]})
    assert caught.value.path == "$.a[1]" + path


@pytest.mark.parametrize(
    ("value", "same_as"),
    [
        (Port(80), 80),
        (Degrees(1.5), 1.5),
        (Row([1, (2,)]), [1, (2,)]),
        (Record(b=(1,)), {"b": (1,)}),
        ({Name("k"): 1}, {"k": 1}),
        ({Level.LOW: 5, 2: 1}, {1: 5, 2: 1}),
        ({Letter.A: 5}, {"a": 5}),
        ({Level.LOW}, {1}),
        ({(1, 2)}, {(1, 2)}),
    ],
)
def test_a_relative_of_a_type_has_the_image_of_that_type(
    value: Any, same_as: Any
) -> None:
    assert encode([value]) == encode([same_as])


def test_a_cycle_is_called_a_cycle() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    row = Row()
    row.append(row)
    node = Node(None)
    node.part = node
    for value in (cycle, row, node):
        with pytest.raises(ValueNotTransferable, match="contains itself"):
            encode(value)


NAN, OTHER_NAN = float("nan"), -float("nan")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({Level.LOW, 1}, "items that would be the same"),
        ({Level.LOW: 0, 1: 1}, "keys that would be the same"),
        ({Apart("a"), Apart("a")}, "items that would be the same"),
        ({Apart("a"): 0, Apart("a"): 1, 2: 2}, "keys that would be the same"),
        ({NAN: 1, OTHER_NAN: 2}, "keys that are nan"),
        ({NAN: 1, 2: 2, numpy.float32("nan"): 3}, "keys that are nan"),
        ({1, NAN, OTHER_NAN}, "items that are nan"),
        ({numpy.float64("nan"), NAN}, "items that are nan"),
    ],
)
def test_what_would_be_the_same_for_the_host_is_refused(
    value: Any, problem: str
) -> None:
    with pytest.raises(ValueNotTransferable, match=f" has {problem}") as caught:
        encode({"v": [value]})
    assert caught.value.path == "$.v[0]"


def test_one_nan_among_others_crosses() -> None:
    read = decode(encode({NAN: 1, 2.5: (NAN, NAN), (NAN, NAN): 3}))
    assert [type(key) for key in read] == [float, float, tuple]
    assert len(decode(encode({NAN, 1.5, None}))) == 3


LONG = 10**5_000


@pytest.mark.parametrize(
    ("value", "place"),
    [({LONG: object()}, "<value 0>"), ({2**70: object()}, f"[{2**70}]")],
)
def test_the_key_in_a_path_may_have_any_number_of_digits(
    value: Any, place: str
) -> None:
    with pytest.raises(ValueNotTransferable, match="plain data") as caught:
        encode(value)
    assert caught.value.path == "$" + place


def test_an_integer_of_any_number_of_digits_is_a_key_and_an_item() -> None:
    for value in ({LONG: LONG}, {LONG, 1}, {-LONG: (LONG,)}):
        assert decode(encode(value)) == value
    twice = msgpack.packb([msgpack.unpackb(encode(LONG)), 0] * 2)
    with pytest.raises(
        ValueNotTransferable, match="equals another key in Python: an int of 16610"
    ):
        decode(extension(ext.MAP, twice))


@pytest.mark.parametrize(
    ("value", "arrives"),
    [({Level.LOW, 2, None}, {1, 2, None}), ({Name("a"): 0, "b": 1}, {"a": 0, "b": 1})],
)
def test_what_is_different_for_the_host_is_not_refused(
    value: Any, arrives: Any
) -> None:
    assert decode(encode([value])) == [arrives]


# -------- Values whose image is made at once, without looking at what could be shared


def test_few_bytes_are_short_and_1_kib_is_not() -> None:
    few = b"\x00\xff" * 511
    image = pack_short(few)
    assert image is not None
    assert decode(image) == few
    # From here on, a stream may share it: a quarter of the least `sharedMemory.fromBytes`.
    assert pack_short(bytes(1024)) is None


def test_bytes_of_another_type_are_not_short() -> None:
    class Named(bytes): ...

    assert pack_short(Named(b"x")) is None
    assert pack_short(bytearray(b"x")) is None
    assert pack_short({"data": [Named(b"x")]}) is None


def test_few_bytes_within_lists_and_dicts_are_short() -> None:
    value = {"name": "a", "parts": [b"x", {"more": bytes(1023)}]}
    image = pack_short(value)
    assert image is not None
    assert decode(image) == value
    assert pack_short({"name": "a", "parts": [b"x", {"more": bytes(1024)}]}) is None


def test_a_value_of_many_levels_is_not_short() -> None:
    value: object = 1
    for _ in range(8):
        value = [value]
    assert pack_short(value) is not None
    assert pack_short([value]) is None


# -------- Integers of more digits than Python writes: no message, schema or type needs them

# pytest cannot name cases by their values, either.


class Sizes(enum.IntEnum):
    ONE = 1
    LONG = 10**5_000


class Bits(enum.Flag, boundary=enum.STRICT):
    ONE = 1


@pytest.mark.parametrize(
    ("annotation", "sent", "value"),
    [
        (int, LONG, LONG),
        (Literal[1, 10**5_000], LONG, LONG),
        (Sizes, LONG, Sizes.LONG),
        (dict[int, int], {LONG: LONG}, {LONG: LONG}),
        (dict[float, int], {1: LONG}, {1.0: LONG}),
        (Decimal, LONG, Decimal(LONG)),
        (Annotated[int, Ge(LONG)], LONG, LONG),
        (Annotated[int, MultipleOf(LONG)], LONG, LONG),
        (Annotated[int, Field(ge=1, allow_inf_nan=False)], LONG, LONG),
    ],
    ids=map(str, itertools.count()),
)
def test_it_passes(annotation: Any, sent: Any, value: Any) -> None:
    _, keywords = bind(taking(annotation), decode(encode({"x": sent})))
    assert keywords["x"] == value
    schema = taking(annotation).schema()
    jsonschema.Draft202012Validator.check_schema(json.loads(json.dumps(schema)))


@pytest.mark.parametrize(
    ("annotation", "sent", "got"),
    [
        (Literal[1], LONG, "got an int of 16610 bits"),
        (Literal[1, 10**5_000], 2, "one of 1, an int of 16610 bits, got 2"),
        (Sizes, -LONG, "got an int of 16610 bits"),
        (Bits, LONG, "got an int of 16610 bits"),
        (str, LONG, "got int"),
        (numpy.int64, LONG, "int"),
        (Annotated[int, Le(LONG)], LONG + 1, "<= an int of 16610 bits"),
        (dict[Literal[1], int], {LONG: 1}, "got an int of 16610 bits"),
        (set[Literal[1]], {LONG}, "got an int of 16610 bits"),
    ],
    ids=map(str, itertools.count()),
)
def test_it_is_refused_with_its_path(annotation: Any, sent: Any, got: str) -> None:
    with pytest.raises(ArgumentsInvalid, match="int") as caught:
        bind(taking(annotation), decode(encode({"x": sent})))
    assert caught.value.path.startswith("$.x")
    assert got in str(caught.value)


def test_it_is_written_as_a_type_and_as_json() -> None:
    check = compile_annotation(Literal[1, 10**5_000])
    assert TypeWriter(sent=True).written(check) == f"1 | {hex(LONG)}n"
    for value in (LONG, [-LONG, 1, True], {"a": {"b": LONG}}):
        assert from_json(to_json(value)) == value


def test_it_may_be_a_default() -> None:
    def function(x: int = LONG) -> None: ...

    signature = Signature(function)
    json.dumps(signature.schema())
    assert signature.written() == "x: int = ..."
