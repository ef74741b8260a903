"""What the benchmark calls."""

from snakepit_bridge import tool


@tool
def echo(value: int) -> int:
    """Returns what it is given."""
    return value
