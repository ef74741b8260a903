"""A tool that uses a library for which there is an instrumentor."""

import sqlite3

from snakepit_bridge import tool


@tool
def add() -> int:
    cursor = sqlite3.connect(":memory:").cursor()
    cursor.execute("SELECT 1 + 1")
    return int(cursor.fetchone()[0])
