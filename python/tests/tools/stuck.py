"""Tools that do not end by themselves, each in its own way."""

import asyncio
import concurrent.futures
import contextlib
import importlib
import queue
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import AsyncIterator, Iterator

from snakepit_bridge import CallCancelled, current_call, tool

cleaned: list[str] = []


def begun() -> None:
    """Reports to the test that the tool runs."""
    sys.stderr.write(f"begun {current_call().call_id}\n")


@tool
def sleeps() -> None:
    begun()
    time.sleep(600)


@tool
def is_busy() -> None:
    begun()
    while True:
        pass


@tool
def waits_for_a_lock() -> None:
    lock = threading.Lock()
    begun()
    with lock:
        lock.acquire()


@tool
def waits_for_a_queue() -> None:
    begun()
    queue.Queue[int]().get()


@tool
def reads_a_socket() -> None:
    one, other = socket.socketpair()
    begun()
    with one, other:
        one.recv(1)


@tool
def waits_for_a_process() -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            begun()
            process.wait()
        finally:
            process.kill()


@tool
def sleeps_before_a_try() -> None:
    begun()
    time.sleep(600)
    try:
        cleaned.append("never")
    finally:
        pass


@tool
def waits_for_an_event() -> None:
    begun()
    threading.Event().wait()


@tool
def waits_for_a_thread() -> None:
    thread = threading.Thread(target=time.sleep, args=[5], daemon=True)
    thread.start()
    begun()
    thread.join()


@tool
def waits_for_a_future() -> None:
    begun()
    concurrent.futures.Future[None]().result()


@tool
def runs_a_loop_of_its_own() -> None:
    async def forever() -> None:
        begun()
        await asyncio.sleep(600)

    asyncio.run(forever())


@tool
async def sleeps_in_asyncio() -> None:
    begun()
    await asyncio.sleep(600)


@tool
async def blocks_the_loop() -> None:
    begun()
    time.sleep(600)  # noqa: ASYNC251 - that is its habit


@tool
async def waits_in_a_thread() -> None:
    await asyncio.to_thread(poll_for_the_cancel)


def poll_for_the_cancel() -> None:
    begun()
    call = current_call()
    while True:
        call.raise_if_cancelled()
        time.sleep(0.01)


@tool
def is_stuck_between_yields() -> Iterator[int]:
    yield 1
    begun()
    time.sleep(600)


@tool
async def is_stuck_between_awaits() -> AsyncIterator[int]:
    yield 1
    begun()
    await asyncio.sleep(600)


@tool
def swallows_the_first() -> None:
    with contextlib.suppress(BaseException):
        begun()
        time.sleep(600)
    time.sleep(600)


class TakesLong:
    """Is never interrupted, however long it takes."""

    def __enter__(self) -> None:
        self.takes_long("enter")

    def __exit__(self, *_: object) -> None:
        self.takes_long("exit")

    def __del__(self) -> None:
        self.takes_long("del")

    def takes_long(self, what: str) -> None:
        if what == habit:
            begun()
            # Longer than a clean-up is left alone.
            end = time.monotonic() + 1.3
            while time.monotonic() < end:
                time.sleep(0.01)
            cleaned.append(what)


habit = ""


@tool
def is_used(what: str) -> None:
    global habit
    habit = what
    with TakesLong():
        pass
    habit = ""
    begun()
    time.sleep(600)


@tool
def is_called_back() -> None:
    def called_back(_: object) -> None:
        TakesLong().takes_long("back")

    global habit
    habit = "back"
    kept = TakesLong()
    reference = weakref.ref(kept, called_back)
    del kept
    habit = ""
    begun()
    time.sleep(600)
    del reference


@tool
def imports(path: str) -> None:
    sys.path.insert(0, path)
    importlib.import_module("slow_to_import")
    time.sleep(600)


@tool
def imported() -> str:
    return str(sys.modules["slow_to_import"].__dict__["end"])


@tool
def cleans_up_for_a_while() -> None:
    try:
        begun()
        time.sleep(600)
    finally:
        time.sleep(0.5)
        cleaned.append("sync")


@tool
async def cleans_up_in_asyncio() -> None:
    try:
        begun()
        await asyncio.sleep(600)
    finally:
        await asyncio.sleep(0.1)
        cleaned.append("async")


@tool
def cleaned_up() -> list[str]:
    """Returns what was cleaned up since it was asked last."""
    seen = cleaned.copy()
    cleaned.clear()
    return seen


@tool
def turns_it_into_an_error() -> None:
    try:
        begun()
        time.sleep(600)
    except CallCancelled as cancelled:
        raise ValueError("interrupted work") from cancelled


@tool
def returns_nevertheless() -> str:
    try:
        begun()
        time.sleep(600)
    except CallCancelled:
        pass
    return "what there was"


@tool
def says_why() -> None:
    try:
        begun()
        time.sleep(600)
    except CallCancelled as cancelled:
        assert current_call().cancelled
        assert current_call().cancel_reason is cancelled.reason
        raise


@tool
def says_why_it_is_not_busy() -> None:
    try:
        begun()
        while True:
            pass
    except CallCancelled as cancelled:
        assert current_call().cancel_reason is cancelled.reason
        raise


@tool
def ping() -> str:
    return "pong"
