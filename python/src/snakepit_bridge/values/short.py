"""Short values, to their image with a packer that is kept: making one takes longer
than packing such a value."""

from __future__ import annotations

import threading

import msgpack

__all__ = ["SHORT", "pack_short"]

# The types of which a value can be short.
SHORT = frozenset({type(None), bool, int, float, str})
# A packer keeps as much memory as the largest of its values took.
_LONGEST_TEXT = 16 << 10


class _Packers(threading.local):
    """A packer for each thread."""

    def __init__(self) -> None:
        self.pack = msgpack.Packer(strict_types=True, use_bin_type=True).pack


_packers = _Packers()


def pack_short(value: object) -> bytes | None:
    """Returns the image of a value of one of the types in `SHORT`; None if it is not
    short, or MessagePack cannot write it."""
    if type(value) is str and len(value) > _LONGEST_TEXT:
        return None
    try:
        packed: bytes = _packers.pack(value)
    except (OverflowError, UnicodeEncodeError):
        return None
    return packed
