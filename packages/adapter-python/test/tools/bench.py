"""Tools that show one habit each."""

import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

from snakepit_bridge import current_call, on_shutdown, progress, tool

produced = 0
lingering = 0.0


@on_shutdown
def take_its_time() -> None:
    time.sleep(lingering)


@tool
def linger(seconds: float) -> None:
    global lingering
    lingering = seconds


@tool
def say(text: str) -> str:
    print(text)
    return text


@tool
def report() -> str:
    progress(0.5, "half")
    progress(None)
    progress(1, "whole")
    return "reported"


@tool
def echo(value: Any = None) -> Any:
    return value


@tool
def add(a: int, b: int = 1) -> int:
    return a + b


@tool
def environment(name: str) -> str | None:
    return os.environ.get(name)


@tool
def working_directory() -> str:
    return os.getcwd()


@tool
def hang() -> None:
    time.sleep(600)


@tool
def hang_aloud() -> None:
    progress(None, "begun")
    time.sleep(600)


@tool
async def hang_async() -> None:
    import asyncio

    await asyncio.sleep(600)


@tool
def remaining() -> float | None:
    return current_call().remaining


@tool
def fail() -> None:
    try:
        {}["missing"]
    except KeyError as error:
        raise ValueError("no such picture") from error


@tool
def bad_result() -> Any:
    return {"items": [1, object()]}


@tool
def large(size: int) -> bytes:
    return bytes(size)


@tool
def count(below: int) -> Iterator[int]:
    yield from range(below)


@tool
def count_and_total(below: int) -> Generator[int, None, dict[str, int]]:
    yield from range(below)
    return {"total": sum(range(below))}


@tool
def return_what_cannot_cross() -> Generator[int, None, object]:
    yield 1
    return object()


@tool
def endless() -> Iterator[int]:
    global produced
    produced = 0
    while True:
        produced += 1
        yield produced


@tool
def how_many_produced() -> int:
    return produced


@tool
def silent() -> Iterator[int]:
    time.sleep(600)
    yield 0


@tool
def fail_after(chunks: int) -> Iterator[int]:
    yield from range(chunks)
    raise ValueError("no more pictures")


@tool(input=Any)
def collect() -> list[Any]:
    return list(current_call().input)


@tool(input=int)
def doubled() -> Iterator[int]:
    for item in current_call().input:
        yield item * 2


@tool(input=int)
def first_input() -> int:
    return next(current_call().input)


@tool(input=Any)
def ignore_input() -> str:
    time.sleep(600)
    return "never"


@tool
def ask(function: str, argument: Any = None) -> Any:
    return current_call().host(function, argument)


@tool
async def ask_async(function: str, argument: Any = None) -> Any:
    return await current_call().host_async(function, argument)


@tool
async def ask_many(function: str, times: int) -> list[Any]:
    import asyncio

    call = current_call()
    return await asyncio.gather(
        *(call.host_async(function, number) for number in range(times))
    )


@tool
def ask_in_threads(function: str, times: int) -> list[Any]:
    from concurrent.futures import ThreadPoolExecutor

    call = current_call()
    with ThreadPoolExecutor(times) as threads:
        return list(threads.map(lambda n: call.host(function, n), range(times)))


@tool
def ask_and_catch(function: str) -> list[str]:
    from snakepit_bridge import HostCallFailed

    try:
        current_call().host(function)
    except HostCallFailed as error:
        return [error.code, error.message]
    return []


@tool
def remember(word: str) -> list[str]:
    session = current_call().session
    assert session is not None
    words = session.setdefault("words", [])
    words.append(word)
    return words


@tool
def trace_context() -> Any:
    return dict(current_call().trace_context)


@tool
def log_something() -> None:
    logging.getLogger("pictures").warning("only %d left", 3)
    try:
        raise ValueError("odd")
    except ValueError:
        current_call().logger.exception("it went wrong")


@tool
def die() -> None:
    print("dying on purpose", file=sys.stderr, flush=True)
    os._exit(3)


@tool
async def async_count(below: int) -> AsyncIterator[int]:
    for i in range(below):
        yield i
