"""The commonest tools: ordinary functions."""

from snakepit_bridge import tool


@tool
def echo(value: object) -> object:
    return value
