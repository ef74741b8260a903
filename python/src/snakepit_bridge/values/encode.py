"""Values to their image.

Containers are checked in Python, one step for each and none for numbers and texts,
and values that MessagePack has no type for are replaced by extensions. msgpack's C
code does the writing.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Protocol

import msgpack

from snakepit_bridge.values import extension_types as ext
from snakepit_bridge.values.moments import (
    date_time_bytes,
    date_times_bytes,
    timestamp_of,
)
from snakepit_bridge.values.nd_array import NdArray
from snakepit_bridge.values.no_image import (
    Path,
    Refused,
    entry_place,
    key_place,
)
from snakepit_bridge.values.numpy_image import (
    array_parts,
    imported_numpy,
    numpy_scalar,
)
from snakepit_bridge.values.short import pack_short

__all__ = ["Attachment", "encode"]

_PLAIN = frozenset({type(None), bool, int, float, str, bytes, date, datetime})
# With an attachment the size of bytes matters.
_PLAIN_BUT_BYTES = _PLAIN - {bytes}
_TEXT = frozenset({str})


class Attachment(Protocol):
    """Where an encoder puts bytes that are too large to be part of the image."""

    def take(self, data: Any) -> int | None:
        """Takes an object with a contiguous buffer.

        Returns where it is in the attachment; None if it belongs into the image.
        """


def encode(
    value: object, root: str = "$", attachment: Attachment | None = None
) -> bytes:
    """Returns the image of a value.

    Args:
        value: what is to cross.
        root: the beginning of the paths in errors.
        attachment: takes large parts; without it everything is in the image.

    Raises:
        NoImage: the value, or a part of it, cannot cross.
    """
    if (packed := pack_short(value)) is not None:
        return packed
    kind = type(value)
    try:
        image = (
            value
            if kind in _PLAIN_BUT_BYTES
            else _Encoder(attachment).image(value, None, ())
        )
        try:
            return _pack(image)
        except (UnicodeEncodeError, TypeError):
            raise _unwritable(value, None) from None
    except Refused as refused:
        raise refused.to_error(root) from None


def _pack(image: object) -> bytes:
    packed: bytes = msgpack.packb(
        image, strict_types=True, use_bin_type=True, datetime=True, default=_extended
    )
    return packed


def _extended(value: int | date) -> Any:
    """Called by msgpack for what is left.

    That is integers of more than 64 bits, dates, and datetimes without zone.
    """
    if isinstance(value, datetime):
        return msgpack.ExtType(ext.DATE_TIME, date_time_bytes(value))
    if isinstance(value, date):
        return msgpack.ExtType(ext.DATE, value.isoformat().encode())
    # One bit more than the magnitude needs, for the sign; -2**n does without.
    bits = (value if value >= 0 else ~value).bit_length() + 1
    data = value.to_bytes((bits + 7) // 8, "big", signed=True)
    return msgpack.ExtType(ext.BIG_INTEGER, data)


class _Encoder:
    """Makes of a value what msgpack can write."""

    def __init__(self, attachment: Attachment | None) -> None:
        self._attachment = attachment
        self._plain = _PLAIN if attachment is None else _PLAIN_BUT_BYTES

    def image(self, value: object, path: Path, ancestors: tuple[object, ...]) -> Any:
        kind = type(value)
        if kind in self._plain:
            return value
        if kind is list:
            items = self._items(value, path, ancestors)  # type: ignore[arg-type]
            packed = date_times_bytes(items)
            return items if packed is None else msgpack.ExtType(ext.DATE_TIMES, packed)
        if kind is dict:
            return self._mapping(value, path, ancestors)  # type: ignore[arg-type]
        return self._extended(value, path, ancestors)

    def _items(
        self, items: Sequence[object], path: Path, ancestors: tuple[object, ...]
    ) -> list[Any]:
        ancestors = _enter(items, path, ancestors)
        if self._plain.issuperset(map(type, items)):
            return items if type(items) is list else list(items)
        return [self.image(item, (path, i), ancestors) for i, item in enumerate(items)]

    def _mapping(
        self, entries: Mapping[Any, Any], path: Path, ancestors: tuple[object, ...]
    ) -> Any:
        ancestors = _enter(entries, path, ancestors)
        if not _TEXT.issuperset(map(type, entries)) or "__proto__" in entries:
            keys = [_subclass_text(key) for key in entries]
            if not _TEXT.issuperset(map(type, keys)) or "__proto__" in keys:
                return self._other_map(entries, path, ancestors)
            entries = dict(zip(keys, entries.values(), strict=True))
        plain = self._plain
        if plain.issuperset(map(type, entries.values())):
            return entries if type(entries) is dict else dict(entries)
        return {
            key: item
            if type(item) in plain
            else self.image(item, (path, key_place(key)), ancestors)
            for key, item in entries.items()
        }

    def _other_map(
        self, entries: Mapping[Any, Any], path: Path, ancestors: tuple[object, ...]
    ) -> Any:
        flat: list[Any] = []
        for i, (key, item) in enumerate(entries.items()):
            flat.append(self.image(key, (path, f"<key {i}>"), ancestors))
            flat.append(self.image(item, (path, entry_place(i, key)), ancestors))
        return _extension(ext.MAP, flat, entries, path)

    def _extended(
        self, value: object, path: Path, ancestors: tuple[object, ...]
    ) -> Any:
        numpy = imported_numpy()
        if isinstance(value, NdArray):
            return self._array(value.dtype, list(value.shape), value.data)
        if numpy is not None and isinstance(value, numpy.ndarray):
            try:
                return self._array(*array_parts(value))
            except ValueError as error:
                raise Refused(path, str(error)) from None
        scalar = numpy_scalar(value)
        if scalar is not None:
            return self.image(scalar, path, ancestors)
        if isinstance(value, datetime):
            return _moment(value, path)
        if isinstance(value, date):
            return _extended(value)
        if isinstance(value, enum.Enum):
            raise _no_image(value, path)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self._bytes(value)
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            items = self._items(value, path, ancestors)
            return _extension(ext.TUPLE, items, value, path)
        if isinstance(value, (set, frozenset)):
            items = self._items(list(value), path, ancestors)
            return _extension(ext.SET, items, value, path)
        return self._subclass(value, path, ancestors)

    def _subclass(
        self, value: object, path: Path, ancestors: tuple[object, ...]
    ) -> Any:
        """Takes the instance of a builtin's subclass for one of the builtin itself."""
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return float(value)
        if isinstance(value, list):
            return self._items(value, path, ancestors)
        if isinstance(value, dict):
            return self._mapping(value, path, ancestors)
        raise _no_image(value, path)

    def _array(self, dtype: str, shape: list[int], data: memoryview | bytes) -> Any:
        return msgpack.ExtType(ext.ND_ARRAY, _pack([dtype, shape, self._bytes(data)]))

    def _bytes(self, data: bytes | bytearray | memoryview) -> Any:
        if self._attachment is not None:
            if isinstance(data, memoryview) and not data.c_contiguous:
                data = bytes(data)
            offset = self._attachment.take(data)
            if offset is not None:
                size = memoryview(data).nbytes
                return msgpack.ExtType(ext.ATTACHED, _pack([offset, size]))
        return bytes(data)


def _subclass_text(key: object) -> object:
    """Makes plain text of a subclass's instance; an enumeration's member stays."""
    if isinstance(key, str) and not isinstance(key, enum.Enum):
        return str.__str__(key)
    return key


def _moment(value: datetime, path: Path) -> Any:
    if value != value:  # noqa: PLR0124 - so is pandas.NaT
        raise _no_image(value, path)
    return _extended(value) if value.tzinfo is None else timestamp_of(value)


def _unwritable(value: object, path: Path) -> Exception:
    """Returns the error about what msgpack could not write."""
    # A module that few values need.
    from snakepit_bridge.values.unwritable import find_unwritable

    return find_unwritable(value, path) or TypeError(
        f"msgpack cannot write {value!r:.80}"
    )


def _extension(code: int, items: list[Any], value: object, path: Path) -> Any:
    try:
        return msgpack.ExtType(code, _pack(items))
    except (UnicodeEncodeError, TypeError):
        raise _unwritable(value, path) from None


def _enter(
    container: object, path: Path, ancestors: tuple[object, ...]
) -> tuple[object, ...]:
    if len(ancestors) < ext.MAX_DEPTH:
        return (*ancestors, container)
    if any(ancestor is container for ancestor in ancestors):
        raise Refused(path, "contains itself; send a value without cycles")
    raise Refused(
        path, f"is more than {ext.MAX_DEPTH} levels deep; send a flatter value"
    )


def _no_image(value: object, path: Path) -> Refused:
    kind = type(value)
    name = kind.__qualname__
    if kind.__module__ != "builtins":
        name = f"{kind.__module__}.{name}"
    article = "an" if name[0] in "aeiouAEIOU" else "a"
    return Refused(
        path, f"is {article} {name}, which cannot be sent to the host; {_remedy(value)}"
    )


def _remedy(value: object) -> str:
    if hasattr(value, "__dataclass_fields__"):
        return "send dataclasses.asdict() of it"
    if hasattr(value, "_asdict"):
        return "send its ._asdict(), or tuple() of it"
    if isinstance(value, enum.Enum):
        return "send its .value or .name"
    if hasattr(value, "model_dump"):
        return "send its .model_dump()"
    if type(value).__name__ == "NaTType":
        return "send None in its place"
    if hasattr(value, "to_numpy") and hasattr(value, "to_dict"):
        return "send it as a numpy array, or to_dict() of it"
    if hasattr(value, "__array__") or hasattr(value, "to_numpy"):
        return "send it as a numpy array"
    if hasattr(value, "__await__"):
        return "send what it gives when it is awaited, in an async function"
    if hasattr(value, "__next__"):
        return "send list() of it, or make the tool a generator"
    return "send plain data, such as str() of it or its fields as a dict"
