"""A worker that is only there."""

from snakepit_bridge import tool


@tool
def wait() -> None:
    """Nobody calls it."""
