"""Tools that tell where they were imported, and what of it their process has."""

import os
import random

import numpy
from snakepit_bridge import on_startup, tool

IMPORTED_IN = os.getpid()
# Open for as long as the process lives: what is forked from it has it too.
KEPT = open(__file__, "rb")  # noqa: SIM115
started_in = 0


@on_startup
def remember() -> None:
    global started_in
    started_in = os.getpid()


@tool
def facts() -> dict[str, object]:
    with open("/proc/self/environ", "rb") as file:
        shown = dict(
            entry.decode().split("=", 1) for entry in file.read().split(b"\0") if entry
        )
    return {
        "pid": os.getpid(),
        "importedIn": IMPORTED_IN,
        "startedIn": started_in,
        "session": os.getsid(0),
        "shown": {
            name: shown.get(name) for name in ("SNAKEPIT_RUN", "SNAKEPIT_WORKER")
        },
        "slot": os.environ.get("SEAT"),
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "kept": os.pread(KEPT.fileno(), 8, 0).decode(),
        "chance": [random.random(), float(numpy.random.random())],
    }


@tool
def leave_with(code: int) -> None:
    os._exit(code)


@tool
def say(text: str) -> None:
    print(text, flush=True)


@tool
def twice(array: numpy.ndarray) -> numpy.ndarray:
    return array * 2


@tool
def sleeps() -> None:
    import time

    print("asleep", flush=True)
    time.sleep(600)
