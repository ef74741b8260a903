"""Tools that ask the host, and tools of sessions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from note import note
from snakepit_bridge import current_call, tool


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


@tool
def remember(tag: str, seconds: float) -> list[str]:
    note("B", tag)
    session = current_call().session
    if session is None:
        return []
    tags: list[str] = session.setdefault("tags", [])
    tags.append(tag)
    if seconds:
        time.sleep(seconds)
    return list(tags)


@tool
async def remember_async(tag: str, seconds: float) -> list[str]:
    note("B", tag)
    session = current_call().session
    if session is None:
        return []
    tags: list[str] = session.setdefault("tags", [])
    tags.append(tag)
    if seconds:
        await asyncio.sleep(seconds)
    return list(tags)


@tool
def remember_stream(tag: str, items: int) -> Iterator[str]:
    note("B", tag)
    session = current_call().session
    if session is None:
        return
    session.setdefault("tags", []).append(tag)
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
