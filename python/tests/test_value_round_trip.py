"""Values that come back as they were, whatever they are."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support.effort import SINGLE_VALUES
from support.value_vectors import FILE, VECTORS, Vector, value_of, vectors_text

from snakepit_bridge import NdArray, ValueNotTransferable
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode
from snakepit_bridge.values.nd_array import ITEM_SIZES

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**80), 2**80)
    | st.floats()
    | st.text()
    | st.binary()
    | st.dates()
    | st.datetimes()
    | st.datetimes(timezones=st.just(timezone.utc))
)
HASHABLE = st.recursive(SCALARS, lambda inner: st.tuples(inner, inner), max_leaves=4)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner)
        | st.lists(st.datetimes())
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text(), inner)
        | st.dictionaries(HASHABLE, inner)
        | st.sets(HASHABLE)
    ),
    max_leaves=30,
)
DTYPES = st.sampled_from(sorted(ITEM_SIZES)).map(numpy.dtype)
ARRAYS = arrays.arrays(DTYPES, arrays.array_shapes(min_dims=0, min_side=0))


def same(a: Any, b: Any) -> bool:
    """Equal in type and value, down to the sign of zero; NaN is NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, set):
        return sorted(map(encode, a)) == sorted(map(encode, b))
    return bool(a == b)


@SINGLE_VALUES
@given(VALUES)
def test_a_value_comes_back_with_its_types(value: Any) -> None:
    assert same(decode(encode(value)), value)


@SINGLE_VALUES
@given(ARRAYS)
def test_an_array_comes_back_with_dtype_shape_and_elements(value: Any) -> None:
    back = decode(encode([value]))[0]
    assert back.dtype == value.dtype
    assert back.shape == value.shape
    assert back.tobytes() == value.tobytes()


@SINGLE_VALUES
@given(ARRAYS)
def test_an_array_of_other_layout_arrives_in_c_order_and_little_endian(
    value: Any,
) -> None:
    turned = numpy.asfortranarray(value).astype(value.dtype.newbyteorder(">"))
    back = decode(encode(turned.reshape(value.shape)))
    assert back.tobytes() == value.tobytes()
    assert back.shape == value.shape


@SINGLE_VALUES
@given(st.datetimes(min_value=datetime(1, 1, 3), timezones=st.timezones()))
def test_an_instant_of_any_zone_is_the_same_instant_in_utc(value: datetime) -> None:
    back = decode(encode(value))
    # Not with the value itself: in a repeated hour Python holds it for unequal.
    assert back == value.astimezone(timezone.utc)
    assert back.tzinfo is timezone.utc


@SINGLE_VALUES
@given(st.binary())
def test_bytes_of_any_kind_are_read_or_refused(encoding: bytes) -> None:
    try:
        value = decode(encoding)
    except ValueNotTransferable:
        return
    assert same(decode(encode(value)), value)


def test_an_array_arrives_ready_to_be_written_to() -> None:
    back = decode(encode(numpy.zeros(3)))
    back[0] = 1
    assert back.tolist() == [1, 0, 0]


# -------------------------------------- The bytes that both languages agree on

READ = [vector for vector in VECTORS if not vector.refused]
REFUSED = [vector for vector in VECTORS if vector.refused]


def _name(vector: Vector) -> str:
    return vector.name


def _wire(vector: Vector) -> bytes:
    return bytes.fromhex(vector.wire) or encode(value_of(vector))


def test_the_committed_vectors_are_those_of_the_table() -> None:
    assert FILE.read_text(encoding="utf-8") == vectors_text()


@pytest.mark.parametrize("vector", READ, ids=_name)
def test_a_vector_is_read_as_its_value(vector: Vector) -> None:
    expected = value_of(vector)
    value: Any = decode(_wire(vector))
    if isinstance(expected, NdArray):
        assert value.dtype.name == expected.dtype
        assert value.shape == expected.shape
        assert value.tobytes() == expected.data
    else:
        assert repr(value) == repr(expected)


@pytest.mark.parametrize("vector", REFUSED, ids=_name)
def test_what_is_no_image_is_refused(vector: Vector) -> None:
    with pytest.raises(ValueNotTransferable):
        decode(bytes.fromhex(vector.wire))


# Written by hand from the MessagePack specification and docs/values.md, so that
# encoder and decoder cannot be wrong together.
BY_HAND = {
    "null": "c0",
    "integer 256": "cd0100",
    "integer -33": "d0df",
    "largest 64-bit integer": "cfffffffffffffffff",
    "first big integer": "c70901010000000000000000",
    "last big integer": "c70901ff7fffffffffffffff",
    "float 1.0": "cb3ff0000000000000",
    "text of 32 bytes": "d920" + "78" * 32,
    "bytes": "c4040001feff",
    "map": "82a16201a16181a16391c3",
    "map of numbers": "c7110594" + "01a36f6e65" + "fea96d696e75732074776f",
    "__proto__": "c70c0592a95f5f70726f746f5f5f01",
    "epoch": "d6ff00000000",
    "instant": "d7ff" + f"{123456000 << 34 | 1709209815:016x}",
    "instant before the epoch": "c70cff" + f"{999999000:08x}" + "f" * 16,
    "date": "c70a03" + b"2024-02-29".hex(),
    "date and time": "d704" + f"{1709209815 * 10**6:016x}",
    "dates and times": "c7290a93"
    + f"c70cff00000000{-62135596800 + 2**64:016x}"
    + f"d7ff{120000 << 34 | 1709209815:016x}"
    + f"c70cff{999999000:08x}{253402300799:016x}",
    "empty tuple": "d40690",
    "set": "c7030791a161",
    "array of int16": "c70d0893a5696e7431369101c4020102",
    "array of no dimension": "c70a0893a4696e743890c40107",
}


@pytest.mark.parametrize("name", BY_HAND)
def test_an_image_is_what_the_documents_say(name: str) -> None:
    (vector,) = [vector for vector in VECTORS if vector.name == name]
    assert encode(value_of(vector)).hex() == BY_HAND[name]
