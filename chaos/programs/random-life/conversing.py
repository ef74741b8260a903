"""Tools that stream, ask the host, or have a session; each notes that it began."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

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


@tool
def ask(tag: str, function: str, argument: object) -> Any:
    note("B", tag)
    return current_call().host(function, argument)


@tool
async def ask_async(tag: str, function: str, argument: object) -> Any:
    note("B", tag)
    return await current_call().host_async(function, argument)


@tool
async def ask_many(tag: str, times: int) -> list[Any]:
    note("B", tag)
    call = current_call()
    asked = (call.host_async("echo", number) for number in range(times))
    return list(await asyncio.gather(*asked))


@tool
def ask_and_count(tag: str, items: int) -> Iterator[Any]:
    note("B", tag)
    for number in range(items):
        yield current_call().host("echo", number)


def remembered(tag: str) -> list[str]:
    """The tags of the session, with this one; none without a session."""
    note("B", tag)
    session = current_call().session
    if session is None:
        return []
    tags: list[str] = session.setdefault("tags", [])
    tags.append(tag)
    return tags


@tool
def remember(tag: str, seconds: float) -> list[str]:
    tags = remembered(tag)
    time.sleep(seconds)
    return list(tags)


@tool
async def remember_async(tag: str, seconds: float) -> list[str]:
    tags = remembered(tag)
    await asyncio.sleep(seconds)
    return list(tags)


@tool
def remember_stream(tag: str, items: int) -> Iterator[str]:
    if remembered(tag):
        for _ in range(items):
            yield tag


@tool
def ask_in_clean_up(tag: str, seconds: float) -> str:
    note("B", tag)
    try:
        time.sleep(seconds)
    finally:
        current_call().host("echo", 1)
    return tag


@tool(takes_input=int)
async def ask_and_relay(tag: str, pause: float) -> AsyncIterator[int]:
    note("B", tag)
    async for number in current_call().input:
        if pause:
            await asyncio.sleep(pause)
        yield await current_call().host_async("echo", number)
