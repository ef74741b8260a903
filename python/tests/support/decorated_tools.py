"""Tools of which only a call shows what it makes."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterator
from typing import Any

from snakepit_bridge import Handle, current_call, tool, toolset


def passing(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*given: Any, **named: Any) -> Any:
        return function(*given, **named)

    return wrapper


def running(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*given: Any, **named: Any) -> Any:
        return asyncio.run(function(*given, **named))

    return wrapper


def listing(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*given: Any, **named: Any) -> Any:
        return list(function(*given, **named))

    return wrapper


def listing_truly(function: Any) -> Any:
    def wrapper(*given: Any, **named: Any) -> list[int]:
        return list(function(*given, **named))

    own = {**function.__annotations__, "return": "list[int]"}
    wrapper = functools.update_wrapper(wrapper, function)
    wrapper.__annotations__ = own
    return wrapper


def in_a_thread(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*given: Any) -> Any:
        return asyncio.to_thread(function, *given)

    return wrapper


class Wrapped:
    """Like the wrappers of wrapt: it looks like the function in it."""

    def __init__(self, function: Any, wrapper: Any) -> None:
        self.__wrapped__ = function
        self._wrapper = wrapper
        self.__name__ = function.__name__

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.__wrapped__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._wrapper(self.__wrapped__)(*given, **named)


async def later(n: int) -> list[Any]:
    await asyncio.sleep(0)
    call = current_call()
    return [n, call.tool, threading.current_thread() is threading.main_thread()]


def numbers(n: int) -> Iterator[int]:
    yield from range(n)
    return "end"  # type: ignore[return-value]


async def numbers_later(n: int) -> AsyncIterator[int]:
    for i in range(n):
        await asyncio.sleep(0)
        yield i


passed = tool(name="passed")(passing(later))
ran = tool(name="ran")(running(later))
passed_twice = tool(name="passed_twice")(passing(passing(later)))
bound = tool(name="bound")(functools.partial(passing(later), 7))
like_wrapt = tool(name="like_wrapt")(Wrapped(later, running))
like_wrapt_passing = tool(name="like_wrapt_passing")(Wrapped(later, passing))
listed = tool(name="listed")(listing(numbers))
listed_truly = tool(name="listed_truly")(listing_truly(numbers))
passed_stream = tool(name="passed_stream")(passing(numbers))
passed_stream_later = tool(name="passed_stream_later")(passing(numbers_later))
threaded = tool(name="threaded")(in_a_thread(abs))
cached = tool(name="cached")(functools.lru_cache(later))


@tool
def promises(n: int) -> Awaitable[int]:
    return asyncio.ensure_future(asyncio.sleep(0, n))


@tool
def promises_a_coroutine(n: int) -> Coroutine[Any, Any, int]:
    return asyncio.sleep(0, n)


@tool
def promises_a_task(n: int) -> asyncio.Task[int]:
    return asyncio.create_task(asyncio.sleep(0, n))


@tool
def promises_a_stream(n: int) -> AsyncIterator[int]:
    return numbers_later(n)


@tool
def says_nothing(n: int):  # type: ignore[no-untyped-def]
    return asyncio.sleep(0, n)


@tool
@functools.singledispatch
def dispatched(value: object) -> Any:
    return "object"


@dispatched.register
async def _(value: int) -> Any:
    await asyncio.sleep(0)
    return "int"


@dispatched.register
def _(value: str) -> Any:
    return asyncio.run(asyncio.sleep(0, "str"))


class Doubling:
    async def __call__(self, n: int) -> int:
        await asyncio.sleep(0)
        return 2 * n


class Counting:
    def __call__(self, n: int) -> Iterator[int]:
        yield from range(n)


doubling = tool(name="doubling")(Doubling())
counting = tool(name="counting")(Counting())


@passing
async def _object() -> Handle[dict]:  # type: ignore[type-arg]
    await asyncio.sleep(0)
    return {"a": 1}


held = tool(name="held")(_object)


@tool
@passing
async def fails() -> None:
    await asyncio.sleep(0)
    raise LookupError("later")


@tool
@passing
async def waits() -> str:
    """Waits until it is cancelled."""
    current_call().logger.warning("begun")
    try:
        await asyncio.sleep(60)
    finally:
        ENDED.append("waits")
    return "over"


@tool
@passing
async def cancels_itself() -> None:
    for task in asyncio.all_tasks():
        task.cancel()
    await asyncio.sleep(60)


@tool
@passing
async def asks() -> Any:
    try:
        current_call().host("f")
    except RuntimeError as error:
        return str(error)


ENDED: list[str] = []


@tool
def ended() -> list[str]:
    return ENDED


@toolset
class Set:
    @passing
    async def method(self, n: int) -> int:
        return n

    @functools.singledispatchmethod
    def by_type(self, value: Any) -> Any:
        return "any"

    @by_type.register
    async def _(self, value: int) -> Any:
        return "int"
