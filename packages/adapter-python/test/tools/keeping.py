"""Tools that keep what they got, each in a way of its own."""

import asyncio
import gc
import os
import queue
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from typing import Any

import numpy
from snakepit_bridge import tool

kept: dict[str, Any] = {}
variable: ContextVar[Any] = ContextVar("variable")


class Remembered(Exception):
    """Has the frame of the tool, and with it the tool's argument."""


def _array(array: Any) -> None:
    kept["array"] = array


def _slice(array: Any) -> None:
    kept["slice"] = array[1000:]


def _reshaped(array: Any) -> None:
    kept["reshaped"] = array.reshape(2, -1).T.view("uint8")


def _memoryview(array: Any) -> None:
    kept["memoryview"] = memoryview(array)[::2]


def _iterator(array: Any) -> None:
    kept["iterator"] = numpy.nditer(array)


def _closure(array: Any) -> None:
    kept["closure"] = lambda: array


def _cycle(array: Any) -> None:
    # Nobody knows of it but the cycle collector, and it may come later.
    holder: dict[str, Any] = {"array": array}
    holder["self"] = holder


def _traceback(array: Any) -> None:
    try:
        raise Remembered(len(array))
    except Remembered as error:
        kept["traceback"] = error


def _thread(array: Any) -> None:
    go_on: queue.SimpleQueue[queue.SimpleQueue[Any]] = queue.SimpleQueue()

    def hold(mine: Any) -> None:
        go_on.get().put(mine)

    threading.Thread(target=hold, args=(array,), daemon=True).start()
    kept["thread"] = go_on


def _context(array: Any) -> None:
    variable.set(array)
    import contextvars

    kept["context"] = contextvars.copy_context()


def _child(array: Any) -> None:
    """A fork has every mapping that its parent has."""
    ask, answer = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(ask[0], 1)
        os.write(answer[1], bytes([int(array.min()), int(array.max())]))
        os._exit(0)
    os.close(ask[0])
    os.close(answer[1])
    kept["child"] = (pid, ask[1], answer[0])


WAYS = {
    "array": _array,
    "slice": _slice,
    "reshaped": _reshaped,
    "memoryview": _memoryview,
    "iterator": _iterator,
    "closure": _closure,
    "cycle": _cycle,
    "traceback": _traceback,
    "thread": _thread,
    "context": _context,
    "child": _child,
}


@tool
def keep(array: Any, way: str) -> Any:
    """The answer is as large as what is kept."""
    gc.disable()
    WAYS[way](array)
    return array + 100


@tool
def keep_and_fail(array: Any) -> None:
    raise Remembered(array)


@tool
async def keep_in_a_task(array: Any) -> None:
    asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def outlive() -> Any:
        await asked
        return array

    kept["task"] = (asked, asyncio.create_task(outlive()))


@tool
async def task_extremes() -> list[int]:
    asked, task = kept["task"]
    asked.set_result(None)
    return _of(await task)


@tool
def extremes(way: str) -> list[int]:
    """The least and the largest element of what was kept that way."""
    if way == "cycle":
        found = [
            held["array"]
            for held in gc.get_objects()
            if type(held) is dict and held.get("self") is held
        ]
        return _of(found[0])
    held = kept[way]
    if way == "closure":
        return _of(held())
    if way == "iterator":
        return _of(held.operands[0])
    if way == "traceback":
        return _of(held.__traceback__.tb_frame.f_locals["array"])
    if way == "thread":
        back: queue.SimpleQueue[Any] = queue.SimpleQueue()
        held.put(back)
        return _of(back.get())
    if way == "context":
        return _of(held[variable])
    if way == "child":
        pid, ask, answer = held
        os.write(ask, b"?")
        seen = list(os.read(answer, 2))
        os.waitpid(pid, 0)
        return seen
    return _of(held)


@tool
def collected() -> int:
    gc.enable()
    kept.clear()
    sys.last_value = None
    return gc.collect()


def _of(held: Any) -> list[int]:
    array = numpy.asarray(held)
    return [int(array.min()), int(array.max())]


@tool
def echo(value: Any) -> Any:
    return value


@tool
def plus(array: Any, number: int) -> Any:
    return array + number


@tool
def made(size: int, number: int) -> bytes:
    return bytes([number]) * size


@tool
def in_slices(array: Any, count: int) -> Iterator[Any]:
    yield from numpy.split(array, count)


@tool
async def in_slices_async(array: Any, count: int) -> AsyncIterator[Any]:
    for part in numpy.split(array, count):
        yield part
        await asyncio.sleep(0)


@tool
def stuck(array: Any) -> None:
    while True:
        time.sleep(1)


@tool
def failing(value: Any) -> None:
    raise ValueError(len(value))


@tool
def forking(array: Any) -> list[int]:
    """What a child does to its array is its own; and so is what the parent does."""
    array[0] = 7
    pid = os.fork()
    if pid == 0:
        array[:] = 99
        os._exit(0)
    os.waitpid(pid, 0)
    return _of(array)
