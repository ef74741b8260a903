"""Where a part is that cannot cross, and how deep a value may be."""

from __future__ import annotations

import collections
import dataclasses
import enum
from collections.abc import Callable
from typing import Any

import msgpack
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snakepit_bridge.values.decode as decoding
from snakepit_bridge import ValueNotTransferable
from snakepit_bridge.values import extension_types as ext
from snakepit_bridge.values.decode import decode, read_short
from snakepit_bridge.values.encode import encode


class Level(enum.Enum):
    LOW = 1


class Letter(enum.Enum):
    A = "a"


@dataclasses.dataclass
class Node:
    part: Any


class Port(int): ...


class Degrees(float): ...


class Name(str):
    __slots__ = ()


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
        (extension(ext.SET, b"\x92\x01" + extension(ext.TUPLE, b"\x91\x90")), "[1]"),
        (
            extension(ext.MAP, b"\x92" + extension(ext.SET, b"\x91\x80") + b"\x01"),
            "<key 0>[0]",
        ),
    ],
)
def test_what_cannot_be_frozen_is_refused_with_its_path(
    encoding: bytes, path: str
) -> None:
    with pytest.raises(
        ValueNotTransferable, match="which cannot be in a set"
    ) as caught:
        decode(encoding)
    assert caught.value.path == "$" + path


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


def test_a_cycle_of_relatives_is_called_a_cycle() -> None:
    row = Row()
    row.append(row)
    node = Node(None)
    node.part = node
    for cycle in (row, node):
        with pytest.raises(ValueNotTransferable, match="contains itself"):
            encode(cycle)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({Level.LOW, 1}, "items"),
        ({Level.LOW: 0, 1: 1}, "keys"),
        ({Apart("a"), Apart("a")}, "items"),
        ({Apart("a"): 0, Apart("a"): 1, 2: 2}, "keys"),
    ],
)
def test_what_would_be_the_same_for_the_host_is_refused(value: Any, what: str) -> None:
    with pytest.raises(
        ValueNotTransferable, match=f" has {what} that would be the same"
    ) as caught:
        encode({"v": [value]})
    assert caught.value.path == "$.v[0]"


NAN, OTHER_NAN = float("nan"), -float("nan")


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({NAN: 1, OTHER_NAN: 2}, "keys"),
        ({NAN: 1, 2: 2, numpy.float32("nan"): 3}, "keys"),
        ({1, NAN, OTHER_NAN}, "items"),
        ({numpy.float64("nan"), NAN}, "items"),
    ],
)
def test_a_second_nan_is_refused_since_it_is_the_same_for_the_host(
    value: Any, what: str
) -> None:
    with pytest.raises(
        ValueNotTransferable, match=f" has {what} that are nan"
    ) as caught:
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
