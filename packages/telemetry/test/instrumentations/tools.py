"""A tool that says what it does."""

import logging

from snakepit_bridge import tool


@tool
def echo(text: str) -> str:
    """Returns what it is given."""
    logging.getLogger("tools").warning("echoed")
    print("echoed", flush=True)
    return text
