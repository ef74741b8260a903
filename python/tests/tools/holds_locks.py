"""Tools that hold locks most of the time, each in another way.

Each returns in a moment with `once`, and otherwise runs until it is interrupted.
"""

import contextlib
import logging
import logging.handlers
import queue
import threading
import weakref
from collections.abc import Callable, Iterator

from snakepit_bridge import current_call, tool

items: queue.Queue[int] = queue.Queue()
records: queue.Queue[object] = queue.Queue()
log = logging.getLogger("held")
log.addHandler(logging.handlers.QueueHandler(records))
log.propagate = False


def again_and_again(step: Callable[[], object], once: bool) -> None:
    step()
    if once:
        return
    current_call().logger.info("begun")
    while True:
        step()


@tool
def puts_and_gets(once: bool) -> None:
    items.put(1)
    items.get()
    if not once:
        current_call().logger.info("begun")
    while not once:
        items.put(1)
        items.get()


@tool
def logs_to_a_queue(once: bool) -> None:
    def step() -> None:
        log.warning("held")
        records.get()

    again_and_again(step, once)


class Counter:
    """Counts in a `with` statement, in plain Python."""

    def __init__(self) -> None:
        self.inside = 0
        self.entered = 0
        self.left = 0

    def __enter__(self) -> None:
        self.entered = self.entered + 1
        self.inside = self.inside + 1

    def __exit__(self, *_: object) -> None:
        self.inside = self.inside - 1
        self.left = self.left + 1


counter = Counter()


@tool
def counts(once: bool) -> None:
    if counter.inside != 0 or counter.entered != counter.left:
        raise AssertionError((counter.inside, counter.entered, counter.left))
    if once:
        return
    current_call().logger.info("begun")
    while True:
        with counter:
            len("x")


plain = threading.Lock()


@tool
def locks(once: bool) -> None:
    if not plain.acquire(timeout=1):
        raise AssertionError("it is held")
    plain.release()
    if once:
        return
    current_call().logger.info("begun")
    while True:
        with plain:
            len("x")


tried = threading.Lock()


@tool
def acquires_and_tries(once: bool) -> None:
    if not tried.acquire(timeout=1):
        raise AssertionError("it is held")
    tried.release()
    if once:
        return
    current_call().logger.info("begun")
    while True:
        tried.acquire()
        try:
            len("x")
        finally:
            tried.release()


turn = threading.Semaphore()
entered = 0


@contextlib.contextmanager
def entering() -> Iterator[None]:
    global entered
    turn.acquire()
    entered += 1
    try:
        yield
    finally:
        entered -= 1
        turn.release()


@entering()
def decorated() -> int:
    return len("x")


@tool
def has_a_decorator(once: bool) -> None:
    if entered != 0 or not turn.acquire(timeout=1):
        raise AssertionError(f"it is held: {entered}")
    turn.release()
    again_and_again(decorated, once)


class Kept: ...


known: weakref.WeakValueDictionary[int, Kept] = weakref.WeakValueDictionary()
called: list[int] = [0, 0]


class Finalized:
    def __del__(self) -> None:
        called[0] = called[0] + 1
        len("x")
        called[1] = called[1] + 1


def called_back(_: object) -> None:
    called[0] = called[0] + 1
    len("x")
    called[1] = called[1] + 1


@tool
def finalizes(once: bool) -> None:
    if called[0] != called[1]:
        raise AssertionError(called)

    def step() -> None:
        Finalized()
        kept = Kept()
        reference = weakref.ref(kept, called_back)
        known[1] = kept
        weakref.finalize(kept, called_back, None)
        del kept, reference

    again_and_again(step, once)
