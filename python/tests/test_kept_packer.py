"""Values whose image is made at once, without looking at what could be shared."""

from __future__ import annotations

from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.kept_packer import pack_short


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
