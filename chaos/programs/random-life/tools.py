"""Tools that answer, stream, ask the host, have a session, fail, end or disturb their worker; each notes that it began."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

from snakepit_bridge import CallCancelled, current_call, tool

_kept: list[bytes] = []


def note(kind: str, tag: str, value: int = 0) -> None:
    """Adds a line to a file that outlives the worker: `B` where a call began, `Y` with what it yielded."""
    # One short write at the end of the file: it is there, whole, if the worker dies next.
    path = os.environ["RANDOM_LIFE_JOURNAL"]
    journal = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        os.write(journal, f"{kind} {tag} {os.getpid()} {value}\n".encode())
    finally:
        os.close(journal)


@tool
def large(tag: str, value: bytes, checksum: int) -> bytes:
    """Returns its argument, which stays as it was."""
    note("B", tag)
    assert zlib.crc32(value) == checksum, "the argument is another one"
    return value


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


@tool
def cling(tag: str, seconds: float) -> str:
    """Ignores a cancel."""
    note("B", tag)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            time.sleep(0.01)
        except CallCancelled:
            continue
    return tag


def ending(tag: str, how: str, number: int) -> None:
    """Fails the call, or ends the process."""
    note("B", tag)
    if how == "raises":
        raise ValueError(tag)
    if how == "exits":
        sys.exit(number)
    if how == "vanishes":
        os._exit(number)
    os.kill(os.getpid(), number)
    time.sleep(5)


@tool
def end(tag: str, how: str, number: int) -> None:
    ending(tag, how, number)


@tool
async def end_async(tag: str, how: str, number: int) -> None:
    ending(tag, how, number)


@tool
def spawn(tag: str) -> str:
    note("B", tag)
    subprocess.Popen(["sleep", "60"], start_new_session=len(tag) % 2 == 0)
    return tag


@tool
def fork(tag: str) -> str:
    note("B", tag)
    child = os.fork()
    if child == 0:
        return "of the child"
    os.waitpid(child, 0)
    return tag


@tool
def disturb(tag: str, how: str) -> str:
    """Uses the process in a way that the next calls and its host must not feel."""
    note("B", tag)
    if how == "prints_elsewhere":
        sys.stdout = io.StringIO()
        print("nobody sees this")
    elif how == "prints_much":
        for line in range(200):
            print(f"{tag} {line}", file=sys.__stdout__ if line % 2 else sys.stderr)
    elif how == "logs_much":
        for record in range(300):
            logging.getLogger("much").warning("%s %d %s", tag, record, "x" * 50)
    elif how == "grows":
        _kept.append(b"\x01" * (10 << 20))
    elif how == "leaves_a_thread":
        leaves = threading.Thread(
            target=time.sleep, args=(1,), daemon=len(tag) % 2 == 0
        )
        leaves.start()
    else:
        os.kill(os.getpid(), signal.SIGINT)
    return tag


@tool
async def block_the_loop(tag: str, seconds: float) -> str:
    note("B", tag)
    time.sleep(seconds)  # noqa: ASYNC251 - on purpose
    return tag


@tool
def no_value(tag: str) -> object:
    note("B", tag)
    return object()


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
def count_and_fail(tag: str, items: int, how: str) -> Iterator[object]:
    note("B", tag)
    yield from range(items)
    if how == "raises":
        raise ValueError(tag)
    yield object()


@tool(input=int)
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


@tool(input=int)
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


@tool(input=int)
def relay(tag: str, pause: float) -> Iterator[int]:
    note("B", tag)
    for number in current_call().input:
        if pause:
            time.sleep(pause)
        yield number


@tool(input=int)
async def relay_async(tag: str, pause: float, asks: bool) -> AsyncIterator[int]:
    note("B", tag)
    async for number in current_call().input:
        if pause:
            await asyncio.sleep(pause)
        yield await current_call().host_async("echo", number) if asks else number


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
