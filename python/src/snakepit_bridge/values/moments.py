"""Instants, dates, and dates with a time, as the encoding writes them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta, timezone
from itertools import repeat
from operator import add, sub

import msgpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_PLAIN_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
# For msgpack: an instant as a datetime, and not as its own class.
TO_DATETIME = 3


def plain_datetime(value: datetime) -> datetime:
    """Returns an instance of a subclass, such as `pandas.Timestamp`, as a datetime itself."""
    return datetime(
        *(value.year, value.month, value.day),
        *(value.hour, value.minute, value.second, value.microsecond),
        tzinfo=value.tzinfo,
        fold=value.fold,
    )


def instant_of(timestamp: msgpack.Timestamp) -> datetime:
    """Returns the instant, in UTC.

    Raises:
        ValueError: it is not within the years 1 to 9999.
    """
    try:
        return _EPOCH + timedelta(0, timestamp.seconds, timestamp.nanoseconds // 1000)
    except OverflowError:
        raise ValueError(
            "is an instant outside the years 1 to 9999, which no datetime has"
        ) from None


def read_date(data: bytes) -> date:
    """Reads `YYYY-MM-DD`.

    Raises:
        ValueError: the text has another form, or the day does not exist.
    """
    digits = data[:4] + data[5:7] + data[8:]
    if len(data) != 10 or data[4:5] + data[7:8] != b"--" or not digits.isdigit():
        raise ValueError(f"is not a date as YYYY-MM-DD: {data[:40]!r}")
    return date.fromisoformat(data.decode())


def date_time_bytes(value: datetime) -> bytes:
    """Returns the microseconds from 1970-01-01T00:00:00 to a naive `datetime`, in 8 bytes."""
    return ((value - _PLAIN_EPOCH) // _MICROSECOND).to_bytes(8, "big", signed=True)


def read_date_time(data: bytes) -> datetime:
    """Reads a date and time without zone.

    Raises:
        ValueError: it has not 8 bytes, or is not within the years 1 to 9999.
    """
    if len(data) != 8:
        raise ValueError(f"is a date and time of {len(data)} bytes, not 8")
    microseconds = int.from_bytes(data, "big", signed=True)
    try:
        return _PLAIN_EPOCH + timedelta(0, 0, microseconds)
    except OverflowError:
        raise ValueError(
            "is a date and time outside the years 1 to 9999, which no datetime has"
        ) from None


# msgpack's C code writes and reads zoned datetimes ten times as fast as Python code
# does the others.


def date_times_bytes(values: Sequence[Any]) -> bytes | None:
    """Returns a list of naive datetimes as MessagePack's timestamps of the same in UTC.

    Returns:
        None for any other list.
    """
    if not values or type(values[0]) is not datetime or values[0].tzinfo is not None:
        return None
    try:
        since = map(sub, values, repeat(_PLAIN_EPOCH))
        packed: bytes = msgpack.packb(
            list(map(add, repeat(_EPOCH), since)), strict_types=True, datetime=True
        )
    except TypeError:
        return None
    return packed


def read_date_times(data: bytes) -> list[datetime]:
    """Reads a list of naive datetimes.

    Raises:
        ValueError: it is something else.
    """
    try:
        values: list[Any] = msgpack.unpackb(data, timestamp=TO_DATETIME)
        return list(map(add, repeat(_PLAIN_EPOCH), map(sub, values, repeat(_EPOCH))))
    except Exception:  # noqa: BLE001 - msgpack has several of its own
        raise ValueError("is not a list of dates and times") from None
