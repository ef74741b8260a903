"""Dates and times as text by ISO 8601."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time, timezone

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_TIME = re.compile(
    r"(\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?(Z|[+-]\d{2}:\d{2})?\Z", re.ASCII
)

FORMS: dict[type, str] = {
    date: "YYYY-MM-DD",
    datetime: "YYYY-MM-DDTHH:MM:SS.ffffff",
    time: "HH:MM:SS.ffffff",
}


def read_time(text: str) -> time:
    """Reads a time of day, with or without a zone.

    Raises:
        ValueError: the text has another form, or there is no such time.
    """
    match = _TIME.match(text)
    if match is None:
        raise ValueError("not a time as HH:MM:SS.ffffff")
    minutes, seconds, fraction, zone = match.groups()
    fraction = (fraction or "").ljust(6, "0")
    zone = {None: "", "Z": "+00:00"}.get(zone, zone)
    return time.fromisoformat(f"{minutes}:{seconds or '00'}.{fraction}{zone}")


def _read_date(text: str) -> date:
    if not _DATE.match(text):
        raise ValueError("not a date as YYYY-MM-DD")
    return date.fromisoformat(text)


def _read_datetime(text: str) -> datetime:
    """Reads a date and time; one with a zone is in UTC, as all that arrive."""
    day, _, clock = text.partition("T")
    moment = datetime.combine(_read_date(day), read_time(clock))
    try:
        return moment if moment.tzinfo is None else moment.astimezone(timezone.utc)
    except OverflowError as error:
        raise ValueError("outside of the years 1 to 9999") from error


READERS: dict[type, Callable[[str], date]] = {
    date: _read_date,
    datetime: _read_datetime,
}
