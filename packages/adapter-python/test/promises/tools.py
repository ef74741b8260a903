"""Tools that make it hard to end their worker."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from typing import Any

from snakepit_bridge import tool


@tool
def ready() -> int:
    return os.getpid()


@tool
def echo(value: Any) -> Any:
    return value


@tool
def with_a_child() -> int:
    """Leaves a child in the worker's group that ignores polite requests."""
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    return subprocess.Popen([sys.executable, "-c", code]).pid


@tool
def with_a_stray() -> int:
    """Leaves a child in a session and a group of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"],
        start_new_session=True,
    ).pid


@tool
def sleep(seconds: float = 600) -> None:
    time.sleep(seconds)


@tool
def busy_loop() -> None:
    while True:
        pass


@tool
def hold_the_gil(seconds: int = 600) -> None:
    ctypes.PyDLL(None).sleep(seconds)


@tool
def stop_itself() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


@tool
def die() -> None:
    print("dying on purpose", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
