"""Tools that use up what their process may open, beside a module named as one of Python's."""

import os
import resource
import token  # the neighbour

from snakepit_bridge import tool

KEPT = []


def use_up() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    while True:
        KEPT.append(os.open(os.devnull, os.O_RDONLY))


@tool
def opens() -> None:
    use_up()


@tool
async def opens_async() -> None:
    use_up()


@tool
def neighbour() -> str:
    return getattr(token, "OWNER", "Python")
