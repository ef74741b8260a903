"""Durations as text by ISO 8601, as `Temporal.Duration`, pydantic and msgspec have it."""

from __future__ import annotations

import re
from datetime import timedelta

_DURATION = re.compile(
    r"([+-])?P(?=.)(?:(\d+)W)?(?:(\d+)D)?"
    r"(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,6}))?S)?)?\Z",
    re.ASCII,
)


def duration_text(value: timedelta) -> str:
    """Writes a duration, as `P1DT2H0.5S`: exactly, and negative ones with a sign in front."""
    sign = "-" if value.days < 0 else ""
    value = abs(value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{value.microseconds:06d}".rstrip("0") if value.microseconds else ""
    days = f"{value.days}D" if value.days else ""
    time = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if seconds or fraction or not (days or time):
        time += f"{seconds}{fraction}S"
    return f"{sign}P{days}T{time}" if time else f"{sign}P{days}"


def read_duration(text: str) -> timedelta:
    """Reads a duration.

    Raises:
        ValueError: the text has another form, years, months or more than six digits of a
            second; or it is longer than any `timedelta`.
    """
    match = _DURATION.match(text)
    if match is None:
        raise ValueError("not a duration as P1DT2H30M0.5S")
    sign, *parts, fraction = match.groups()
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in parts)
    try:
        duration = timedelta(
            weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds
        ) + timedelta(microseconds=int((fraction or "").ljust(6, "0")))
    except OverflowError:
        raise ValueError("longer than any timedelta") from None
    return -duration if sign == "-" else duration
