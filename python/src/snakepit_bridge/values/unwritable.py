"""Which part of a value msgpack could not write."""

from collections.abc import Iterable
from datetime import datetime

from snakepit_bridge.values.no_image import Path, Refused, entry_place, key_place

__all__ = ["find_unwritable"]


def find_unwritable(value: object, path: Path) -> Refused | None:
    """Returns what is wrong with the first text or datetime that msgpack cannot write."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return Refused(
                path,
                "is text with a lone surrogate, which no encoding carries; "
                "send bytes, or mend it with errors='replace'",
            )
    if isinstance(value, datetime) and value.tzinfo and value.utcoffset() is None:
        return Refused(
            path,
            f"is a datetime whose zone {value.tzinfo!r:.80} has no offset from UTC; "
            "send it with another zone, or with replace(tzinfo=None)",
        )
    return next(
        filter(
            None,
            (find_unwritable(part, inside) for part, inside in _parts(value, path)),
        ),
        None,
    )


def _parts(value: object, path: Path) -> Iterable[tuple[object, Path]]:
    if isinstance(value, (list, tuple, set, frozenset)):
        for i, item in enumerate(value):
            yield item, (path, i)
    elif isinstance(value, dict):
        for i, (key, item) in enumerate(value.items()):
            place = key_place(key) if isinstance(key, str) else entry_place(i, key)
            yield key, (path, place)
            yield item, (path, place)
