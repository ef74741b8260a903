"""Values that come back as they were, whatever they are."""

from __future__ import annotations

import math
from datetime import date, datetime, timezone
from typing import Any

import numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support.effort import SINGLE_VALUES

from snakepit_bridge import ValueNotTransferable
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


def test_a_date_does_not_become_a_datetime() -> None:
    assert type(decode(encode(date(2024, 1, 2)))) is date
