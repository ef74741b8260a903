"""Tools of a program that the dashboard and the commands look at, also when it gets into trouble."""

import ctypes
import logging
import os
import pathlib
import signal
import sys
import time
from collections.abc import Iterator
from typing import Literal

from snakepit_bridge import tool

# What a program reads when it starts: a volume that may not be mounted.
if volume := os.environ.get("SNAKEPIT_TEST_VOLUME"):
    pathlib.Path(volume).read_text()


@tool
def mean(numbers: list[float], unit: str = "m", rounded: bool = False) -> str:
    """Computes the mean of numbers."""
    value = sum(numbers) / len(numbers)
    return f"{round(value) if rounded else value} {unit}"


@tool
def wait(seconds: float) -> float:
    """Sleeps."""
    time.sleep(seconds)
    return seconds


@tool
def classify(image: int, model: Literal["small", "large"] = "small") -> int:
    """Takes a few milliseconds, sometimes more."""
    time.sleep(0.004 + (image % 7) * 0.003 + (0.12 if image % 41 == 0 else 0))
    return image % 10


@tool
def parse(text: str) -> int:
    """Fails on what is no number."""
    return int(text)


@tool
def hang() -> None:
    """Holds the GIL for ever: nothing in this process runs, and it computes nothing. A signal does not end it."""
    mutex = ctypes.create_string_buffer(64)
    lock = ctypes.PyDLL(None).pthread_mutex_lock
    lock(mutex)
    lock(mutex)


@tool
def stop() -> None:
    """Stops itself, as a person or another program may."""
    os.kill(os.getpid(), signal.SIGSTOP)


@tool
def crash() -> None:
    """Ends as a bug in C does."""
    os.kill(os.getpid(), signal.SIGSEGV)


@tool
def chatter(per_second: int, seconds: float) -> int:
    """Prints lines at a rate."""
    start = time.monotonic()
    printed = 0
    while (passed := time.monotonic() - start) < seconds:
        due = int(passed * per_second)
        if due > printed:
            lines = "".join(f"line {n} of a chatty tool\n" for n in range(printed, due))
            sys.stdout.write(lines)
            sys.stdout.flush()
            printed = due
        time.sleep(0.005)
    return printed


@tool
def hostile() -> None:
    """Prints and raises what must stay inert."""
    markup = "<script>document.title='owned'</script><img src=x onerror=document.title='owned'>"
    print(markup)
    print("\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J back\bspace \u202eturned\u202c")
    print("x" * 1_000_000)
    logging.getLogger("tool").warning("%s \x1b[5m blinks", markup)
    raise ValueError(markup)


@tool
def report(items: int) -> int:
    """Logs what it does, and prints."""
    log = logging.getLogger("reports")
    for item in range(items):
        print(f"item {item} of {items} written to /srv/reports/{item:04}.parquet")
        if item % 5 == 3:
            log.warning("item %s has no author", item)
        if item % 11 == 10:
            log.error("item %s could not be read: unexpected end of file", item)
        time.sleep(0.05)
    return items


@tool
def countdown(start: int) -> Iterator[int]:
    """Counts down to 1."""
    yield from range(start, 0, -1)
