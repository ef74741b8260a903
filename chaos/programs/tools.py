"""Tools that make it hard to end their worker."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import descendants
import nonsense
from snakepit_bridge import tool
from witness import hold

hold("worker")


@tool
def pid() -> int:
    return os.getpid()


@tool
def sleep(seconds: float = 600) -> None:
    begun()
    time.sleep(seconds)


@tool
def busy_loop() -> None:
    begun()
    while True:
        pass


@tool
def hold_the_gil(seconds: int = 600) -> None:
    begun()
    ctypes.PyDLL(None).sleep(seconds)


@tool
def stop_itself() -> None:
    begun()
    os.kill(os.getpid(), signal.SIGSTOP)


@tool
def with_children() -> None:
    descendants.child()
    descendants.child_that_ignores_sigterm()


@tool
def with_a_daemon() -> None:
    descendants.daemon_with_its_environment()


@tool
def with_a_forgotten_daemon() -> None:
    descendants.daemon_without_anything()


@tool
def with_a_daemon_without_its_first_thread() -> None:
    descendants.daemon_without_its_first_thread()


@tool
def with_a_fork_loop() -> None:
    descendants.fork_loop()


@tool
def with_a_fork_loop_in_sessions() -> None:
    descendants.fork_loop_in_sessions()


@tool
def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@tool
def flood(megabytes: int) -> None:
    """Prints without a line break, as fast as it is read."""
    chunk = b"x" * 1024 * 1024
    for _ in range(megabytes):
        os.write(1, chunk)


@tool
def with_a_daemon_that_holds_the_output() -> None:
    descendants.daemon_that_holds_the_output()


@tool
def take_memory(megabytes: int) -> int:
    return len(bytearray(os.urandom(1024 * 1024)) * megabytes)


@tool
def large_result(megabytes: int) -> bytes:
    return bytes(megabytes * 1024 * 1024)


@tool
def speak_nonsense(kind: str) -> None:
    """Writes onto the conversation what does not belong there, and waits."""
    nonsense.write(kind)
    time.sleep(600)


def begun() -> None:
    """Shows the witness that the tool runs."""
    hold("begun")
