"""Tools whose results stay in the worker."""

import asyncio
import threading
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import ClassVar

from snakepit_bridge import Handle, progress, tool


class Counter:
    alive: ClassVar["weakref.WeakSet[Counter]"] = weakref.WeakSet()
    made: ClassVar[list[int]] = []
    ended_in_main = True

    def __init__(self, start: int = 0) -> None:
        self.count = start
        self.alive.add(self)
        self.made.append(start)

    def add(self, n: int = 1) -> int:
        self.count += n
        return self.count

    def shift(self, by: int) -> int:
        return self.add(by)

    def copy(self) -> "Counter":
        return Counter(self.count)

    def __del__(self) -> None:
        in_main = threading.current_thread() is threading.main_thread()
        Counter.ended_in_main = Counter.ended_in_main and in_main

    def __getitem__(self, key: str) -> str:
        return key * self.count

    async def later(self) -> int:
        return self.count


@tool
def counter(start: int = 0) -> Handle[Counter]:
    return Counter(start)


@tool
def counters(starts: list[int]) -> Iterator[Handle[Counter]]:
    for start in starts:
        yield Counter(start)


@tool
def total(of: list[Handle[Counter]]) -> int:
    return sum(each.count for each in of)


@tool
def no_handle():
    return Counter()


@tool
def alive() -> list[int]:
    return sorted(each.count for each in Counter.alive)


@tool
def made() -> list[int]:
    return Counter.made


@tool
def ended_in_main() -> bool:
    return Counter.ended_in_main


@tool
async def counter_nevertheless(start: int) -> Handle[Counter]:
    """Makes one after its caller has left."""
    progress(0)
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return Counter(start)


@tool
async def counters_nevertheless(start: int) -> AsyncIterator[Handle[Counter]]:
    """Makes more than its caller takes."""
    for i in range(4):
        yield Counter(start + i)
    progress(1)
    await asyncio.Event().wait()
