"""Values that MessagePack can write as they are, with a packer that is kept: making one
takes longer than packing such a value."""

from __future__ import annotations

import threading
from datetime import datetime

import msgpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What such a value is, or consists of.
_PLAIN = frozenset({type(None), bool, int, float, str, datetime})
_TEXT = frozenset({str})
_MOST_LEVELS = 8
_LONGEST_TEXT = 16 << 10
# Whatever the host chooses, fewer bytes are never shared: not by a call, and not by a
# stream, which shares from a quarter of that size on.
_LEAST_SHARED_BYTES = 1 << 10
# A packer keeps as much memory as the largest of its values took: one that took more
# is not kept.
_LARGEST_IMAGE = 64 << 10


class _Packers(threading.local):
    """A packer for each thread."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self.pack = msgpack.Packer(
            strict_types=True, use_bin_type=True, datetime=True
        ).pack


_packers = _Packers()


def pack_short(value: object) -> bytes | None:
    """Returns the encoding of None, a truth value, a number, a text, an instant or a few
    bytes, or of lists and dicts of these; None if it is another value, or msgpack cannot
    write it."""
    if type(value) is str:
        if len(value) > _LONGEST_TEXT:
            return None
    elif not _has_short_form(value, _MOST_LEVELS):
        return None
    try:
        packed: bytes = _packers.pack(value)
    except (OverflowError, ValueError, TypeError):
        return None
    if len(packed) > _LARGEST_IMAGE:
        _packers.renew()
    return packed


def _has_short_form(value: Any, levels: int) -> bool:
    """Returns whether all parts have a short form, if there are no more levels of them."""
    kind = type(value)
    if kind is dict:
        # JavaScript has another use for that key.
        if not _TEXT.issuperset(map(type, value)) or "__proto__" in value:
            return False
        value = value.values()
    elif kind is not list:
        return kind in _PLAIN or (kind is bytes and len(value) < _LEAST_SHARED_BYTES)
    if _PLAIN.issuperset(map(type, value)):
        return True
    return levels > 1 and all(_has_short_form(part, levels - 1) for part in value)
