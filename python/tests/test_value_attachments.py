"""Values of which parts are elsewhere: attachments, tables and objects that do not cross."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import msgpack
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from snakepit_bridge import ValueNotTransferable
from snakepit_bridge.values import extension_types as ext
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode
from snakepit_bridge.values.reference import reference_image


class Memory:
    """An attachment for both sides, which has something else before its first part."""

    def __init__(self, least: int = 0, before: bytes = b"before!") -> None:
        self.bytes = bytearray(before)
        self.size = len(before)
        self._least = least

    def take(self, data: Any) -> int | None:
        part = memoryview(data)
        assert part.c_contiguous
        if part.nbytes < self._least:
            return None
        place = self.size
        self.bytes += bytes(part)
        self.size += part.nbytes
        return place

    def copy(self, begin: int, end: int) -> bytes:
        return bytes(self.bytes[begin:end])

    def view(self, begin: int, end: int) -> memoryview:
        return memoryview(self.bytes[begin:end])


def encoding(value: Any) -> bytes:
    """Returns what MessagePack itself makes of a value."""
    packed: bytes = msgpack.packb(value)
    return packed


def extension(code: int, value: Any) -> msgpack.ExtType:
    return msgpack.ExtType(code, encoding(value))


LARGE = (
    st.binary(max_size=8)
    | st.binary(max_size=8).map(bytearray)
    | st.binary(max_size=8).map(lambda data: memoryview(data)[::2])
    | arrays.arrays("int16", arrays.array_shapes(max_dims=2, max_side=3))
)


def plain(value: Any) -> Any:
    return (
        (str(value.dtype), value.tolist()) if hasattr(value, "dtype") else bytes(value)
    )


@settings(max_examples=20)
@given(st.lists(LARGE | st.integers(), max_size=4), st.integers(0, 6))
def test_large_parts_come_back_wherever_they_were_put(
    values: list[Any], least: int
) -> None:
    memory = Memory(least)
    back = decode(encode({"a": values}, attachment=memory), attachment=memory)["a"]
    for value, found in zip(values, back, strict=True):
        assert type(value) is int or plain(found) == plain(value)
        assert type(value) is not int or found == value


def test_an_image_has_the_place_and_the_size_of_what_is_in_the_attachment() -> None:
    memory = Memory(least=2)
    packed = encode([b"ab", b"c", memoryview(b"d-e-f-")[::2]], attachment=memory)
    expected = [extension(ext.ATTACHED, [7, 2]), b"c", extension(ext.ATTACHED, [9, 3])]
    assert packed == encoding(expected)
    assert bytes(memory.bytes) == b"before!abdef"
    assert encode([memoryview(b"d-e-f-")[::2]]) == encoding([b"def"])


@pytest.mark.parametrize(
    ("place", "found"), [([0, 4], b"abcd"), ([4, 0], b""), ([1, 2], b"bc")]
)
def test_a_part_is_where_the_image_says(place: list[int], found: bytes) -> None:
    memory = Memory(before=b"abcd")
    packed = encoding([extension(ext.ATTACHED, place)])
    assert decode(packed, attachment=memory) == [found]


@pytest.mark.parametrize(
    "place",
    [[-1, 2], [3, -1], [0, 5], [4, 1], [0], [0, 1, 1], [0, True], [0, "1"], "01", 1],
)
@pytest.mark.parametrize("within", ["bytes", "array", "table"])
def test_a_part_outside_the_attachment_is_refused_with_its_path(
    place: Any, within: str
) -> None:
    part = extension(ext.ATTACHED, place)
    if within == "array":
        part = extension(ext.ND_ARRAY, ["int8", [1], part])
    elif within == "table":
        part = extension(ext.TABLE, part)
    packed = encoding({"a": [0, part]})
    with pytest.raises(
        ValueNotTransferable, match="of an attachment of 4 bytes"
    ) as caught:
        decode(packed, attachment=Memory(before=b"abcd"))
    assert caught.value.path == "$.a[1]"


def test_without_an_attachment_nothing_is_in_it() -> None:
    with pytest.raises(ValueNotTransferable, match="of an attachment of 0 bytes"):
        decode(encoding(extension(ext.ATTACHED, [0, 0])))


NO_IMAGE = msgpack.ExtType(ext.ATTACHED, b"\xc1")


@pytest.mark.parametrize(
    "part",
    [
        NO_IMAGE,
        *(
            msgpack.ExtType(code, b"\xc1")
            for code in (ext.ND_ARRAY, ext.TABLE, ext.TUPLE)
        ),
        extension(ext.ND_ARRAY, ["int8", [1], NO_IMAGE]),
        extension(ext.TABLE, NO_IMAGE),
    ],
)
def test_an_extension_that_has_no_image_in_it_is_refused_with_its_path(
    part: Any,
) -> None:
    packed = encoding({"a": [0, part]})
    with pytest.raises(
        ValueNotTransferable, match=r"is not a value encoding: FormatError$"
    ) as caught:
        decode(packed, attachment=Memory())
    assert caught.value.path == "$.a[1]"


def test_an_array_in_an_attachment_is_a_view_that_can_be_written_to() -> None:
    memory = Memory()
    array = numpy.arange(6, dtype="int16").reshape(2, 3)
    packed = encode(array, attachment=memory)
    part = extension(ext.ATTACHED, [7, 12])
    assert packed == encoding(extension(ext.ND_ARRAY, ["int16", [2, 3], part]))
    back = decode(packed, attachment=memory)
    back[0, 0] = 9
    assert back.tolist() == [[9, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    "parts",
    [
        [1, [1], b"a"],
        ["int8", 1, b"a"],
        ["int8", [1], "a"],
        ["int8", ["1"], b"a"],
        ["int8", [True], b"a"],
        ["int8", [1]],
        ["int8", [1], b"a", 0],
        ["int8", [1], msgpack.ExtType(99, b"\x92\0\1")],
        "int8",
    ],
)
def test_an_array_with_other_parts_is_refused(parts: Any) -> None:
    packed = encoding([extension(ext.ND_ARRAY, parts)])
    with pytest.raises(
        ValueNotTransferable, match=r"^\$\[0\] is an array without dtype, shape"
    ):
        decode(packed, attachment=Memory())


@pytest.fixture
def arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pyarrow for which any bytes but none are a table."""

    def open_stream(data: bytes) -> Any:
        if not data:
            raise OSError("no stream")
        return SimpleNamespace(read_all=lambda: ("table", data))

    module: Any = ModuleType("pyarrow")
    module.py_buffer = bytes
    module.ipc = SimpleNamespace(open_stream=open_stream)
    monkeypatch.setitem(sys.modules, "pyarrow", module)


@pytest.mark.usefixtures("arrow")
def test_a_table_is_read_from_the_image_or_from_the_attachment() -> None:
    tables = [
        extension(ext.TABLE, b"rows"),
        extension(ext.TABLE, extension(ext.ATTACHED, [1, 3])),
    ]
    memory = Memory(before=b"abcde")
    assert decode(encoding(tables), attachment=memory) == [
        ("table", b"rows"),
        ("table", b"bcd"),
    ]


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize(
    ("stream", "problem"),
    [
        (b"", "cannot be read: no stream"),
        ("rows", "without its bytes"),
        (msgpack.ExtType(99, b"\x92\0\1"), "without its bytes"),
    ],
)
def test_what_is_no_table_is_refused_with_its_path(stream: Any, problem: str) -> None:
    packed = encoding({"a": extension(ext.TABLE, stream)})
    with pytest.raises(ValueNotTransferable, match=problem) as caught:
        decode(packed, attachment=Memory())
    assert caught.value.path == "$.a"


class Objects:
    def resolve(self, token: bytes) -> object:
        if token == b"lost":
            raise ValueError("is an object that is gone")
        return ("object", token)


def test_a_reference_is_the_object_that_is_held() -> None:
    tuple_of_one = extension(ext.TUPLE, [1])
    handle = msgpack.unpackb(reference_image(b"t1", object()))
    packed = encoding([handle, tuple_of_one])
    assert decode(packed, held=Objects()) == [("object", b"t1"), (1,)]


@pytest.mark.parametrize(
    ("handle", "problem"),
    [
        ([b"lost", "a.B"], "an object that is gone"),
        (["t1", "a.B"], "a handle without a token"),
        (1, "a handle without a token"),
    ],
)
def test_a_reference_to_nothing_is_refused_with_its_path(
    handle: Any, problem: str
) -> None:
    packed = encoding({"a": extension(ext.HANDLE, handle)})
    with pytest.raises(ValueNotTransferable, match=problem) as caught:
        decode(packed, held=Objects())
    assert caught.value.path == "$.a"


def test_a_reference_where_nothing_is_held_is_an_unknown_extension() -> None:
    with pytest.raises(ValueNotTransferable, match="of extension type 32"):
        decode(reference_image(b"t1", object()))
