"""Tools that take their time and answer."""

from __future__ import annotations

import asyncio
import time

from note import note
from snakepit_bridge import current_call, tool


@tool
def answer(tag: str) -> str:
    note("B", tag)
    return tag


@tool
def sleep(tag: str, seconds: float) -> str:
    note("B", tag)
    time.sleep(seconds)
    return tag


@tool
def spin(tag: str, seconds: float) -> str:
    note("B", tag)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        current_call().raise_if_cancelled()
    return tag


@tool
async def sleep_async(tag: str, seconds: float) -> str:
    note("B", tag)
    await asyncio.sleep(seconds)
    return tag


@tool
def clean_up(tag: str, seconds: float) -> str:
    note("B", tag)
    try:
        time.sleep(seconds)
    finally:
        time.sleep(0.05)
        note("C", tag)
    return tag


@tool
async def clean_up_async(tag: str, seconds: float) -> str:
    note("B", tag)
    try:
        await asyncio.sleep(seconds)
    finally:
        await asyncio.sleep(0.05)
        note("C", tag)
    return tag
