"""Values to their encoding.

Containers are checked in Python, one step for each and none for numbers and texts,
and values that MessagePack has no type for are replaced by extensions. msgpack's C
code does the writing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime
from operator import ne

import msgpack

from snakepit_bridge.values import extension_types as ext
from snakepit_bridge.values import moments
from snakepit_bridge.values.kept_packer import pack_short
from snakepit_bridge.values.nd_array import NdArray
from snakepit_bridge.values.numpy_values import (
    bytes_of_table,
    numpy_scalar,
    parts_of_array,
)
from snakepit_bridge.values.value_not_transferable import (
    Path,
    Refused,
    entry_part,
    key_part,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, TypeAlias
else:
    Protocol = object

BuiltinForm: TypeAlias = "Callable[[Any], object]"
_BUILTINS = frozenset({type(None), bool, int, float, str, bytes, date, datetime})
# With an attachment, the size of bytes matters.
_BUILTINS_BUT_BYTES = _BUILTINS - {bytes}
_TEXT = frozenset({str})
# Instances of their subclasses are sent as they are, and may compare in their own way.
_COMPARED = (str, int, float)


# By type: the function that makes plain data of a value; None if the value has its own
# encoding.
FORMS: dict[type, BuiltinForm | None] = {}


class Attachment(Protocol):
    """Where an encoder puts bytes that are too large to be part of the encoding."""

    def take(self, data: Any) -> int | None:
        """Takes an object with a contiguous buffer.

        Returns where it is in the attachment; None if it stays in the encoding.
        """


def encode(
    value: object, root: str = "$", attachment: Attachment | None = None
) -> bytes:
    """Returns the encoding of a value.

    Args:
        value: what is to cross.
        root: the beginning of the paths in errors.
        attachment: takes large parts; without it everything is in the encoding.

    Raises:
        ValueNotTransferable: the value, or a part of it, cannot cross.
    """
    if (packed := pack_short(value)) is not None:
        return packed
    kind = type(value)
    try:
        encoding = (
            value
            if kind in _BUILTINS_BUT_BYTES
            else _Encoder(attachment).encoding(value, None, ())
        )
        return _pack_or_refuse(encoding, None)
    except Refused as refused:
        raise refused.to_error(root) from None


def _pack(encoding: object) -> bytes:
    packed: bytes = msgpack.packb(
        encoding, strict_types=True, use_bin_type=True, datetime=True, default=_extended
    )
    return packed


def _extended(value: int | date) -> Any:
    """Called by msgpack for what is left.

    That is integers of more than 64 bits, dates, and datetimes without zone.
    """
    if isinstance(value, datetime):
        return msgpack.ExtType(ext.DATE_TIME, moments.date_time_bytes(value))
    if isinstance(value, date):
        return msgpack.ExtType(ext.DATE, value.isoformat().encode())
    # One bit more than the magnitude needs, for the sign; -2**n does without.
    bits = (value if value >= 0 else ~value).bit_length() + 1
    data = value.to_bytes((bits + 7) // 8, "big", signed=True)
    return msgpack.ExtType(ext.BIG_INTEGER, data)


class _Encoder:
    """Converts a value to one that msgpack can write."""

    def __init__(self, attachment: Attachment | None) -> None:
        self._attachment = attachment
        self._builtins = _BUILTINS if attachment is None else _BUILTINS_BUT_BYTES

    def encoding(self, value: object, path: Path, ancestors: tuple[object, ...]) -> Any:
        kind = type(value)
        if kind in self._builtins:
            return value
        if kind is list:
            items = self._items(value, path, ancestors)  # type: ignore[arg-type]
            packed = moments.date_times_bytes(items)
            return items if packed is None else msgpack.ExtType(ext.DATE_TIMES, packed)
        if kind is dict:
            return self._mapping(value, path, ancestors)  # type: ignore[arg-type]
        return self._extended(value, path, ancestors)

    def _items(
        self, items: Sequence[object], path: Path, ancestors: tuple[object, ...]
    ) -> list[Any]:
        ancestors = _enter(items, path, ancestors)
        if self._builtins.issuperset(map(type, items)):
            return items if type(items) is list else list(items)
        return [
            self.encoding(item, (path, i), ancestors) for i, item in enumerate(items)
        ]

    def _mapping(
        self,
        entries: Mapping[Any, Any],
        path: Path,
        ancestors: tuple[object, ...],
        origin: object = None,
    ) -> Any:
        ancestors = _enter(entries if origin is None else origin, path, ancestors)
        if not _TEXT.issuperset(map(type, entries)) or "__proto__" in entries:
            keys = [_builtin_key(key) for key in entries]
            if not _TEXT.issuperset(map(type, keys)) or "__proto__" in keys:
                return self._other_map(entries, path, ancestors)
            _check_distinct(keys, path, "keys")
            entries = dict(zip(keys, entries.values(), strict=True))
        builtins = self._builtins
        if builtins.issuperset(map(type, entries.values())):
            return entries if type(entries) is dict else dict(entries)
        return {
            key: item
            if type(item) in builtins
            else self.encoding(item, (path, key_part(key)), ancestors)
            for key, item in entries.items()
        }

    def _other_map(
        self, entries: Mapping[Any, Any], path: Path, ancestors: tuple[object, ...]
    ) -> Any:
        flat: list[Any] = []
        for i, (key, item) in enumerate(entries.items()):
            flat.append(self.encoding(key, (path, f"<key {i}>"), ancestors))
            flat.append(self.encoding(item, (path, entry_part(i, key)), ancestors))
        _check_different(entries, flat[::2], path, "keys")
        return _extension(ext.MAP, flat, path)

    def _extended(
        self, value: object, path: Path, ancestors: tuple[object, ...]
    ) -> Any:
        form = _form_of(type(value))
        if form is not None:
            return self._formed(form(value), value, path, ancestors)
        if isinstance(value, datetime):
            if value != value:  # noqa: PLR0124 - so is pandas.NaT
                raise _not_transferable(value, path)
            return moments.plain_datetime(value)
        if isinstance(value, NdArray):
            return self._array(value.dtype, list(value.shape), value.data)
        try:
            array = parts_of_array(value)
            if array is not None:
                return self._array(*array)
            table = bytes_of_table(value)
            if table is not None:
                return msgpack.ExtType(ext.TABLE, _pack(self._bytes(table)))
            scalar = numpy_scalar(value)
        except ValueError as error:
            raise Refused(path, str(error)) from None
        if scalar is not None:
            return self.encoding(scalar, path, ancestors)
        if isinstance(value, date):
            return _extended(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self._bytes(value)
        if isinstance(value, tuple):
            items = self._items(value, path, ancestors)
            return _extension(ext.TUPLE, items, path)
        if isinstance(value, (set, frozenset)):
            return self._set(list(value), path, ancestors)
        return self._subclass(value, path, ancestors)

    def _formed(
        self, form: object, value: object, path: Path, ancestors: tuple[object, ...]
    ) -> Any:
        if form is value:
            raise Refused(
                path, "was returned by its own @encoder; return another value"
            )
        if type(form) is dict:
            return self._mapping(form, path, ancestors, value)
        return self.encoding(form, path, ancestors)

    def _set(
        self, items: list[object], path: Path, ancestors: tuple[object, ...]
    ) -> Any:
        encodings = self._items(items, path, ancestors)
        _check_different(items, encodings, path, "items")
        return _extension(ext.SET, encodings, path)

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
        raise _not_transferable(value, path)

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
        # msgpack copies it, into the encoding.
        is_whole = isinstance(data, memoryview) and data.c_contiguous
        return data if is_whole else bytes(data)


def _form_of(kind: type) -> BuiltinForm | None:
    try:
        return FORMS[kind]
    except KeyError:
        from snakepit_bridge.values.builtin_form import find_form

    # A program may make classes all the time.
    if len(FORMS) >= 1000:
        FORMS.clear()
    form = FORMS[kind] = find_form(kind)
    return form


def _builtin_key(key: object) -> object:
    """Converts a key that is an instance of a subclass, or is sent as text, to plain
    text.
    """
    form = _form_of(type(key))
    plain = key if form is None else form(key)
    return str.__str__(plain) if isinstance(plain, str) else key


def _check_different(
    values: Collection[object], encodings: list[Any], path: Path, what: str
) -> None:
    """Raises if keys, or items of a set, would be equal in JavaScript."""
    # Of what is a key, only nan differs from itself, and not in JavaScript.
    if float in set(map(type, encodings)) and sum(map(ne, encodings, encodings)) > 1:
        raise Refused(path, f"has {what} that are nan, which is one for the host")
    kinds = set(map(type, values))
    if any(
        issubclass(kind, _COMPARED) or _form_of(kind) is not None
        for kind in kinds - _BUILTINS
    ):
        _check_distinct([_pack(encoding) for encoding in encodings], path, what)


def _check_distinct(encodings: list[Any], path: Path, what: str) -> None:
    if len(set(encodings)) < len(encodings):
        raise Refused(path, f"has {what} that would be the same for the host")


def _extension(code: int, items: list[Any], path: Path) -> Any:
    return msgpack.ExtType(code, _pack_or_refuse(items, path, code == ext.MAP))


def _pack_or_refuse(encoding: object, path: Path, is_map: bool = False) -> bytes:
    try:
        return _pack(encoding)
    except (UnicodeEncodeError, TypeError):
        # A module that few values need.
        from snakepit_bridge.values.unwritable import find_unwritable

        refused = find_unwritable(encoding, path, is_map)
        raise refused or TypeError(f"msgpack cannot write {encoding!r:.80}") from None


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


def _not_transferable(value: object, path: Path) -> Refused:
    from snakepit_bridge.values.refusals import not_transferable

    return not_transferable(value, path)
