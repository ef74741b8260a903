"""What tools do to a pool whose listeners act."""

import os
import time
from collections.abc import Iterator

from snakepit_bridge import tool


@tool
def echo(value: object = None) -> object:
    return value


@tool
def work(ms: float) -> None:
    time.sleep(ms / 1000)


@tool
def fail(value: object = None) -> None:
    raise RuntimeError(f"on purpose: {value}")


@tool
def crash(value: object = None) -> None:
    os._exit(3)


@tool
def hang(value: object = None) -> None:
    time.sleep(3600)


@tool
def stuck(value: object = None) -> None:
    """Does not end when it is cancelled."""
    while True:
        try:
            time.sleep(3600)
        except BaseException:  # noqa: BLE001, S110
            pass


@tool
def count(to: int) -> Iterator[int]:
    yield from range(to)
