"""`python -m snakepit_bridge` as a person types it, and tools to try."""

from __future__ import annotations

import subprocess
from pathlib import Path

from support.command_template import run_in_copy

SOURCE = '''
import asyncio
import datetime
from collections.abc import AsyncIterator, Iterator
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

from snakepit_bridge import current_call, on_shutdown, on_startup, tool, toolset

class Size(Enum):
    SMALL = 1

state: dict[str, int] = {}

@on_startup
async def start() -> None:
    state["started"] = 1

@on_shutdown
def stop() -> None:
    import sys
    print("stopped", file=sys.stderr)

@tool
def add(a: int, b: int = 2) -> int:
    """Adds two numbers.

    And no more.
    """
    return a + b + state["started"] - 1

@tool
async def add_later(a: int, b: int) -> int:
    await asyncio.sleep(0)
    return a + b

@tool
def count(n: int) -> Iterator[int]:
    yield from range(n)

@tool
async def count_later(n: int) -> AsyncIterator[int]:
    for i in range(n):
        yield i

@tool
def echo(value: Any) -> Any:
    return value

@tool
def shout(text: str) -> str:
    return text.upper()

@tool
def typed(folder: Path, due: date, size: Size = Size.SMALL) -> dict[str, object]:
    return {"folder": folder, "due": due, "size": size, "name": size.name}

@tool
def fails() -> None:
    raise ValueError("on purpose")

@tool
def odd() -> Any:
    return [object()]

@tool(input=float)
def total() -> float:
    return sum(current_call().input)

@tool
def context() -> dict[str, Any]:
    call = current_call()
    assert call.session is not None
    return {"tool": call.tool, "timed": call.remaining is not None}

@tool
def asks() -> Any:
    return current_call().host("anything")

@toolset
class Counter:
    @tool
    def next(self) -> int:
        return 1
'''


def write_tools(directory: Path) -> Path:
    """Returns a file of tools."""
    path = directory / "my_tools.py"
    path.write_text(SOURCE)
    return path


def run(
    *arguments: str, stdin: str = "", cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs it to its end; what it warns of is an error."""
    return run_in_copy(arguments, stdin, cwd)
