"""Tools that run calls together. They print what they run, and may block on a pipe."""

import os
import signal

from snakepit_bridge import Batch, tool

GATE = os.open(os.environ["GATE"], os.O_RDWR)


def begin(items: list[str]) -> list[str | Exception]:
    print(f"began {' '.join(items)}", flush=True)
    if any(item.startswith("wait") for item in items):
        os.read(GATE, 1)
    if "die" in items:
        os.kill(os.getpid(), signal.SIGKILL)
    if "short" in items:
        return ["too few"] * (len(items) - 1)
    return [ValueError(item) if item == "error" else f"{item}!" for item in items]


@tool(batch=Batch(max=4, wait_ms=50))
def together(items: list[str]) -> list[str | Exception]:
    """Answers each item."""
    return begin(items)


@tool(batch=Batch(max=4, wait_ms=50))
async def later(items: list[str]) -> list[str | Exception]:
    return begin(items)


@tool
def other(name: str) -> str:
    return name


@tool(batch=Batch(max=4, wait_ms=50))
def sizes(arrays: list[bytes]) -> list[int]:
    return [len(array) for array in arrays]
