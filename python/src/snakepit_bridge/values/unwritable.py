"""Which part of a value msgpack could not write."""

from collections.abc import Iterable
from datetime import datetime

from snakepit_bridge.values.value_not_transferable import (
    Path,
    Refused,
    entry_part,
    key_part,
)


def find_unwritable(value: object, path: Path, is_map: bool = False) -> Refused | None:
    """Returns what is wrong with the first text or datetime that msgpack cannot write.

    Args:
        value: what is to be packed.
        path: where it is.
        is_map: whether it is the list of keys and values that a map is written as.
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return Refused(
                path,
                "is text with a lone surrogate, which no encoding can represent; "
                "send bytes, or repair it with errors='replace'",
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
            (
                find_unwritable(part, inside)
                for part, inside in _parts(value, path, is_map)
            ),
        ),
        None,
    )


def _parts(value: object, path: Path, is_map: bool) -> Iterable[tuple[object, Path]]:
    if isinstance(value, list) and is_map:
        for i, (key, item) in enumerate(zip(value[::2], value[1::2], strict=True)):
            yield key, (path, f"<key {i}>")
            yield item, (path, entry_part(i, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield item, (path, i)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key, (path, key_part(key))
            yield item, (path, key_part(key))
