"""Values from their encoding."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

import msgpack

from snakepit_bridge.values import extension_types as ext
from snakepit_bridge.values.moments import (
    TO_DATETIME,
    instant_of,
    read_date,
    read_date_time,
    read_date_times,
)
from snakepit_bridge.values.numpy_values import revive_array
from snakepit_bridge.values.value_not_transferable import (
    Path,
    Refused,
    entry_part,
    key_part,
    shown,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol
else:
    Protocol = object

_SIMPLE = frozenset({type(None), bool, int, float, str, bytes, date, datetime})
# A shorter encoding is first read as if it had no extensions, because few have any.
_SHORT = 4 << 10
# For msgpack: an instant as its own class, which has no bounds.
_TO_TIMESTAMP = 0
_CONTAINERS = frozenset({list, dict})
# As many parts are looked at sooner than the bytes of the encoding.
_FEW = 64
# A list of one item, and all bytes with which neither a list nor a map begins.
_ONE_ITEM = b"\x91"
_NO_BEGINNINGS = bytes({*range(256)} - {*range(0x80, 0xA0), *range(0xDC, 0xE0)})


class Attached(Protocol):
    """The holder of the large parts of a value.

    Attributes:
        size: how many bytes they take.
    """

    size: int

    def copy(self, begin: int, end: int) -> bytes:
        """Returns bytes of their own."""

    def view(self, begin: int, end: int) -> memoryview:
        """Returns private memory, which can be written to."""


class Held(Protocol):
    """Where the objects are that an encoding only refers to."""

    def resolve(self, token: bytes) -> object:
        """Returns the object of a token, or raises."""


def decode(
    encoding: bytes,
    root: str = "$",
    attachment: Attached | None = None,
    held: Held | None = None,
) -> Any:
    """Returns the value of an encoding. Never runs code that the encoding brings.

    Args:
        encoding: the bytes.
        root: the beginning of the paths in errors.
        attachment: what holds its large parts; arrays are views of it.
        held: what holds the objects that it refers to.

    Raises:
        ValueNotTransferable: the bytes are not an encoding, or have a part that Python cannot hold.
    """
    if encoding and (value := read_short(encoding)) is not None:
        return value
    try:
        value, has_extensions = _unpack(encoding, None)
        if has_extensions:
            return _Decoder(attachment, held).revive(value, None, 1)
        if _may_be_deep(encoding, value) and not _fits(encoding):
            _refuse_depth(value, None, 1)
        return value
    except Refused as refused:
        raise refused.to_error(root) from None


def read_short(encoding: bytes) -> Any:
    """Returns the value of an encoding, an empty dict if there is none; None if only
    `decode` can read it."""
    if not encoding:
        return {}
    if len(encoding) >= _SHORT:
        return None
    try:
        # Keys are checked by default.
        value = msgpack.unpackb(encoding, ext_hook=_leaf, timestamp=TO_DATETIME)
    except Exception:  # noqa: BLE001 - `decode` finds out what it is
        return None
    if (
        len(encoding) > ext.MAX_DEPTH
        and _may_be_deep(encoding, value)
        and not _fits(encoding)
    ):
        return None
    return value


def _may_be_deep(encoding: bytes, value: Any) -> bool:
    """Returns whether a value, without a look into its parts, may have too many levels:
    it has containers in it, and its encoding as many bytes with which one may begin. Text
    and numbers may have such bytes, too."""
    if type(value) is dict:
        value = value.values()
    elif type(value) is not list:
        return False
    if len(value) <= _FEW and _CONTAINERS.isdisjoint(map(type, value)):
        return False
    return (
        len(encoding) >= _SHORT
        or len(encoding.translate(None, _NO_BEGINNINGS)) > ext.MAX_DEPTH
    )


def _fits(encoding: bytes) -> bool:
    """Returns whether an encoding has no more levels than are allowed, apart from those in
    its extensions.

    False also where msgpack cannot say. It has a limit of its own, which cannot be set. AnnotationContext so many lists that only as
    many levels are left, its C code looks for us: that takes a tenth of the time that
    reading the values takes.
    """
    global _around
    if not _IS_IN_C:
        return False
    if _around is None:
        _around = _ONE_ITEM * (_levels_of_msgpack() - ext.MAX_DEPTH)
    return _skips(_around, encoding)


# What is around an encoding so that it may have as many levels as are allowed.
_around: bytes | None = None
# Elsewhere, msgpack is written in Python and has no such limit.
_IS_IN_C = msgpack.Unpacker.__module__ == "msgpack._cmsgpack"


def _levels_of_msgpack() -> int:
    least, most = ext.MAX_DEPTH, 1 << 16
    while least < most:
        levels = (least + most + 1) // 2
        if _skips(_ONE_ITEM * (levels - 1), b"\x90"):
            least = levels
        else:
            most = levels - 1
    return least


def _skips(before: bytes, encoding: bytes) -> bool:
    unpacker = msgpack.Unpacker(max_buffer_size=0)
    unpacker.feed(before)
    unpacker.feed(encoding)
    try:
        unpacker.skip()
    except msgpack.StackError:
        return False
    return True


def _refuse_depth(value: Any, path: Path, depth: int) -> None:
    """Raises about the first part of a value that is too deep."""
    if type(value) is list:
        _check_depth(path, depth)
        for i, item in enumerate(value):
            if type(item) in (list, dict):
                _refuse_depth(item, (path, i), depth + 1)
    elif type(value) is dict:
        _check_depth(path, depth)
        for key, item in value.items():
            if type(item) in (list, dict):
                _refuse_depth(item, (path, key_part(str(key))), depth + 1)


def _big_integer(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


# Extensions that contain no other values. They raise ValueError.
_LEAVES: dict[int, Callable[[bytes], Any]] = {
    ext.BIG_INTEGER: _big_integer,
    ext.DATE: read_date,
    ext.DATE_TIME: read_date_time,
    ext.DATE_TIMES: read_date_times,
}


def _leaf(code: int, data: bytes) -> Any:
    return _LEAVES[code](data)


def _unpack(encoding: bytes, path: Path) -> tuple[Any, bool]:
    """Returns a value with most of its extensions as they are, and if there are any."""
    extensions = False

    def read(code: int, data: bytes) -> Any:
        nonlocal extensions
        if code in _LEAVES:
            try:
                return _LEAVES[code](data)
            except ValueError:
                pass  # It is read again where its path is known.
        extensions = True
        return msgpack.ExtType(code, data)

    def unpack(timestamp: int) -> Any:
        return msgpack.unpackb(
            encoding, ext_hook=read, strict_map_key=True, timestamp=timestamp
        )

    try:
        try:
            return unpack(TO_DATETIME), extensions
        except (OverflowError, ValueError):  # an instant that no datetime has
            return unpack(_TO_TIMESTAMP), True
    except msgpack.StackError:
        raise Refused(path, f"is more than {ext.MAX_DEPTH} levels deep") from None
    except Exception as error:  # noqa: BLE001 - msgpack has several of its own
        problem = f"is not a value encoding: {type(error).__name__} {error}".rstrip()
        raise Refused(path, problem) from None


class _Decoder:
    """Replaces extensions by values; the containers were created here, so they may be
    changed.
    """

    def __init__(self, attachment: Attached | None, held: Held | None) -> None:
        self._attachment = attachment
        self._held = held

    def revive(
        self, value: Any, path: Path, depth: int, *, is_hashed: bool = False
    ) -> Any:
        """Replaces the extensions in a value, and returns it.

        Args:
            value: what msgpack read.
            path: where it is.
            depth: how many containers are around it, and one.
            is_hashed: it is a key or an item of a set, or in one: sets in it are frozen.
        """
        if type(value) is list:
            _check_depth(path, depth)
            if not _SIMPLE.issuperset(map(type, value)):
                for i, item in enumerate(value):
                    if type(item) not in _SIMPLE:
                        value[i] = self.revive(
                            item, (path, i), depth + 1, is_hashed=is_hashed
                        )
        elif type(value) is dict:
            _check_depth(path, depth)
            if not _SIMPLE.issuperset(map(type, value.values())):
                for key, item in value.items():
                    if type(item) not in _SIMPLE:
                        if type(key) is not str:  # msgpack takes bytes for text
                            raise Refused(path, "has a key that is not text")
                        item_path = (path, key_part(key))
                        value[key] = self.revive(item, item_path, depth + 1)
        elif type(value) is msgpack.ExtType:
            return self._extension(value.code, value.data, path, depth, is_hashed)
        elif type(value) is msgpack.Timestamp:
            try:
                return instant_of(value)
            except ValueError as error:
                raise Refused(path, str(error)) from None
        return value

    def _extension(
        self, code: int, data: bytes, path: Path, depth: int, is_hashed: bool
    ) -> Any:
        try:
            if code in _LEAVES:
                return _LEAVES[code](data)
            if code == ext.ND_ARRAY:
                return self._array(data, path)
            if code == ext.TABLE:
                return self._table(data, path)
            if code == ext.HANDLE and self._held is not None:
                from snakepit_bridge.values.reference import token_of  # few need it

                return self._held.resolve(token_of(data))
            if code == ext.ATTACHED:
                attachment, begin, end = self._attached(data, path)
                return attachment.copy(begin, end)
        except ValueError as error:
            raise Refused(path, str(error)) from None
        if code in (ext.MAP, ext.TUPLE, ext.SET):
            _check_depth(path, depth)
            items, has_extensions = _unpack(data, path)
            if type(items) is not list:
                raise Refused(path, "is an extension that should hold an array")
            if code == ext.MAP:
                return self._other_map(items, path, depth)
            if has_extensions or not _SIMPLE.issuperset(map(type, items)):
                is_inside = is_hashed or code == ext.SET
                self.revive(items, path, depth, is_hashed=is_inside)
            if code == ext.TUPLE:
                return tuple(items)
            return _set(items, path, frozenset if is_hashed else set)
        raise Refused(
            path, f"is of extension type {code}, which this version does not know"
        )

    def _other_map(self, flat: list[Any], path: Path, depth: int) -> dict[Any, Any]:
        if len(flat) % 2 != 0:
            raise Refused(path, "is a map whose last key has no value")
        entries: dict[Any, Any] = {}
        for i in range(0, len(flat), 2):
            key_path = (path, f"<key {i // 2}>")
            key = self.revive(flat[i], key_path, depth + 1, is_hashed=True)
            item = self.revive(flat[i + 1], (path, entry_part(i // 2, key)), depth + 1)
            try:
                known = key in entries
            except TypeError:
                raise Refused(key_path, _unhashable(key, "a key of a dict")) from None
            if known:
                raise Refused(
                    key_path, f"equals another key in Python: {shown(key):.40}"
                )
            entries[key] = item
        return entries

    def _array(self, data: bytes, path: Path) -> object:
        parts, _ = _unpack(data, path)
        if type(parts) is not list or len(parts) != 3:
            raise ValueError("is an array without dtype, shape and bytes")
        dtype, shape, elements = parts
        if type(elements) is msgpack.ExtType and elements.code == ext.ATTACHED:
            attachment, begin, end = self._attached(elements.data, path)
            elements = attachment.view(begin, end)
        if (
            type(dtype) is not str
            or type(shape) is not list
            or type(elements) not in (bytes, memoryview)
            or not {int}.issuperset(map(type, shape))
        ):
            raise ValueError("is an array without dtype, shape and bytes")
        return revive_array(dtype, shape, elements)

    def _table(self, data: bytes, path: Path) -> object:
        stream, _ = _unpack(data, path)
        if type(stream) is msgpack.ExtType and stream.code == ext.ATTACHED:
            attachment, begin, end = self._attached(stream.data, path)
            stream = attachment.view(begin, end)
        if type(stream) not in (bytes, memoryview):
            raise ValueError("is a table without its bytes")
        # A module that few programs need.
        from snakepit_bridge.values.tables import revive_table

        return revive_table(stream)

    def _attached(self, data: bytes, path: Path) -> tuple[Attached, int, int]:
        bounds, _ = _unpack(data, path)
        attachment = self._attachment
        available = 0 if attachment is None else attachment.size
        if (
            attachment is None
            or type(bounds) is not list
            or [type(part) for part in bounds] != [int, int]
            or min(bounds) < 0
            or sum(bounds) > available
        ):
            raise ValueError(
                f"is a part {bounds!r:.60} of an attachment of {available} bytes"
            )
        return attachment, bounds[0], sum(bounds)


def _check_depth(path: Path, depth: int) -> None:
    if depth > ext.MAX_DEPTH:
        raise Refused(path, f"is more than {ext.MAX_DEPTH} levels deep")


def _set(
    items: list[Any], path: Path, kind: type[set[Any] | frozenset[Any]]
) -> set[Any] | frozenset[Any]:
    try:
        result = kind(items)
        if len(result) == len(items):
            return result
    except TypeError:
        pass
    # Some item is wrong: find out which.
    distinct: set[Any] = set()
    for i, item in enumerate(items):
        try:
            # Not `in`: a set can look for another set, and yet not hold it.
            hash(item)
        except TypeError:
            raise Refused((path, i), _unhashable(item, "in a set")) from None
        if item in distinct:
            problem = f"equals another item in Python: {shown(item):.40}"
            raise Refused((path, i), problem)
        distinct.add(item)
    return kind(distinct)


def _unhashable(value: object, where: str) -> str:
    kind = type(value).__name__
    return f"is of type {kind}, which cannot be {where} in Python; send a tuple"
