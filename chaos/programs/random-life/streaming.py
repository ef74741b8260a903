"""Tools that stream, out, in, and both."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

from note import note
from snakepit_bridge import current_call, tool


@tool
def count(tag: str, items: int, pause: float) -> Iterator[int]:
    note("B", tag)
    made = 0
    try:
        for number in range(items):
            if pause:
                time.sleep(pause)
            made = number + 1
            yield number
    finally:
        note("Y", tag, made)


@tool
async def count_async(tag: str, items: int, pause: float) -> AsyncIterator[int]:
    note("B", tag)
    made = 0
    try:
        for number in range(items):
            if pause:
                await asyncio.sleep(pause)
            made = number + 1
            yield number
    finally:
        note("Y", tag, made)


@tool
def count_and_fail(tag: str, items: int) -> Iterator[int]:
    note("B", tag)
    yield from range(items)
    raise ValueError(tag)


@tool(takes_input=int)
def collect(tag: str, most: int, pause: float) -> list[int]:
    note("B", tag)
    got: list[int] = []
    for number in current_call().input:
        got.append(number)
        if len(got) == most:
            break
        if pause:
            time.sleep(pause)
    return got


@tool(takes_input=int)
async def collect_async(tag: str, most: int, pause: float) -> list[int]:
    note("B", tag)
    got: list[int] = []
    async for number in current_call().input:
        got.append(number)
        if len(got) == most:
            break
        if pause:
            await asyncio.sleep(pause)
    return got


@tool(takes_input=int)
def relay(tag: str, pause: float) -> Iterator[int]:
    note("B", tag)
    for number in current_call().input:
        if pause:
            time.sleep(pause)
        yield number


@tool(takes_input=int)
async def relay_async(tag: str, pause: float) -> AsyncIterator[int]:
    note("B", tag)
    async for number in current_call().input:
        if pause:
            await asyncio.sleep(pause)
        yield number


@tool
def count_and_no_value(tag: str, items: int) -> Iterator[object]:
    note("B", tag)
    yield from range(items)
    yield object()
