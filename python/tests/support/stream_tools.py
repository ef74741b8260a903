"""Tools that stream, and a worker that has them."""

from __future__ import annotations

from conftest import Host

from support.conversation import Conversation

GENERATORS = """
    import asyncio
    from collections.abc import AsyncIterator, Generator, Iterator
    from typing import Any
    from snakepit_bridge import Result, tool

    log: list[str] = []

    @tool
    def steps() -> Iterator[int]:
        try:
            for i in range(1000):
                log.append(f"made {i}")
                yield i
        finally:
            log.append("closed")

    @tool
    async def steps_later() -> AsyncIterator[int]:
        try:
            for i in range(1000):
                log.append(f"made {i}")
                yield i
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    @tool
    def breaks() -> Iterator[int]:
        yield 1
        raise ValueError("in the middle")

    @tool
    async def breaks_later() -> AsyncIterator[int]:
        yield 1
        raise ValueError("in the middle")

    @tool
    def totals(below: int) -> Generator[int, None, int]:
        total = 0
        for i in range(below):
            total += i
            yield i
        return total

    @tool
    def returns_an_object() -> Generator[int, None, object]:
        yield 1
        return object()

    @tool
    async def totals_later(below: int) -> AsyncIterator[int | Result[int]]:
        try:
            for i in range(below):
                yield i
            yield Result(sum(range(below)))
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    @tool
    async def goes_on() -> AsyncIterator[int | Result[int]]:
        yield 1
        try:
            yield Result(1)
            yield 2
        finally:
            log.append("closed")

    @tool
    async def breaks_after_its_result() -> AsyncIterator[int | Result[int]]:
        yield 1
        yield Result(1)
        raise ValueError("after it")

    @tool
    async def yields_a_result_of_an_object() -> AsyncIterator[Any]:
        yield 1
        yield Result(object())

    @tool
    def yields_a_result() -> Iterator[Any]:
        yield 1
        yield Result(1)

    @tool
    def returns_a_result() -> Any:
        return Result(1)

    @tool
    def iterates() -> Iterator[int]:
        return iter([1])

    @tool
    def unclosable() -> Iterator[int]:
        while True:
            try:
                yield 1
            except GeneratorExit:
                yield 2

    @tool
    def seen() -> list[str]:
        return log

    @tool
    def forget() -> None:
        log.clear()
"""


def fresh(shared: Host, calls_per_worker: int = 1) -> Conversation:
    """A conversation with a worker that has forgotten what earlier tests made."""
    conversation = shared(GENERATORS, callsPerWorker=calls_per_worker).converse()
    conversation.call("forget")
    return conversation
