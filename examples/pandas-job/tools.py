"""Readings of weather stations, summed up with pandas."""

import pandas
from snakepit_bridge import tool


@tool
def days(readings: pandas.DataFrame) -> pandas.DataFrame:
    """Returns the mean and the greatest temperature of each station's days.

    Args:
        readings: columns `at`, `station` and `celsius`, which may be missing.
    """
    by_day = readings.assign(day=readings["at"].dt.floor("D")).groupby(
        ["station", "day"], observed=True
    )
    return (
        by_day["celsius"]
        .agg(mean="mean", greatest="max", missing=lambda column: column.isna().sum())
        .reset_index()
        .astype({"station": "string"})
    )


@tool
def stations(days: pandas.DataFrame) -> pandas.DataFrame:
    """Returns a row for each station, the warmest first."""
    return (
        days.groupby("station", as_index=False)
        .agg(
            days=("day", "nunique"), mean=("mean", "mean"), greatest=("greatest", "max")
        )
        .sort_values("mean", ascending=False)
        .round(1)
    )
