"""A model that is fitted once and asked often."""

import sqlite3
from dataclasses import dataclass

from snakepit_bridge import Handle, tool


@dataclass
class Line:
    """A line through points."""

    slope: float
    intercept: float

    def at(self, x: float) -> float:
        return self.slope * x + self.intercept


@tool
def fit(rows: Handle[sqlite3.Cursor]) -> Handle[Line]:
    """Fits a line to rows of two numbers, by least squares."""
    points = rows.fetchall()
    n = len(points)
    mean_x = sum(x for x, _ in points) / n
    mean_y = sum(y for _, y in points) / n
    over = sum((x - mean_x) * (y - mean_y) for x, y in points)
    slope = over / sum((x - mean_x) ** 2 for x, _ in points)
    return Line(slope, mean_y - slope * mean_x)


@tool
def predict(line: Handle[Line], at: list[float]) -> list[float]:
    """Returns what a line is at some places."""
    return [line.at(x) for x in at]
