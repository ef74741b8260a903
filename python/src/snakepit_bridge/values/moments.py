"""Instants, dates, and dates with a time, as the image writes them."""

import re
from datetime import date, datetime, timedelta, timezone

__all__ = ["instant_of", "microseconds_of", "read_date", "read_date_time"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_DATE_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,6}))?\Z", re.ASCII
)


def microseconds_of(instant: datetime) -> int:
    """Returns the microseconds since the Unix epoch of an aware `datetime`."""
    return (instant - _EPOCH) // _MICROSECOND


def instant_of(microseconds: int) -> datetime:
    """Returns the instant, in UTC.

    Raises:
        ValueError: it is not within the years 1 to 9999.
    """
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        raise ValueError(
            "is an instant outside the years 1 to 9999, which no datetime has"
        ) from None


def read_date(text: str) -> date:
    """Reads `YYYY-MM-DD`.

    Raises:
        ValueError: the text has another form, or the day does not exist.
    """
    if _DATE.match(text) is None:
        raise ValueError(f"is not a date as YYYY-MM-DD: {text[:40]!r}")
    return date.fromisoformat(text)


def read_date_time(text: str) -> datetime:
    """Reads `YYYY-MM-DDTHH:MM:SS`, with up to six digits of a second.

    Raises:
        ValueError: the text has another form, or the moment does not exist.
    """
    match = _DATE_TIME.match(text)
    if match is None:
        raise ValueError(
            f"is not a date and time as YYYY-MM-DDTHH:MM:SS.ffffff: {text[:40]!r}"
        )
    fraction = (match[2] or "").ljust(6, "0")
    return datetime.fromisoformat(match[1]).replace(microsecond=int(fraction))
