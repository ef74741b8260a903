"""The bytes that both languages agree on."""

from __future__ import annotations

from typing import Any

import pytest
from support.value_vectors import FILE, VECTORS, Vector, value_of, vectors_text

from snakepit_bridge import NdArray, ValueNotTransferable
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

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
