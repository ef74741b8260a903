"""Commands that end in every way."""

import os

from snakepit_bridge import tool


@tool
def echo(value: object) -> object:
    """Returns what it gets."""
    return value


@tool
def boom() -> None:
    """Fails."""
    raise ValueError


@tool
def die() -> None:
    """Takes its worker with it."""
    os._exit(3)
