"""Tools that make it hard to end their worker."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import stat
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import descendants
from exit_watcher import hold
from snakepit_bridge import tool

hold("worker")

#: What a bridge with a bug might write to its host. Over gRPC, "oversized" is the header of an HTTP/2 frame of DATA on
#: stream 1: 24 bits of length, type, flags, stream. Framed, it is a length of 4 GB.
NONSENSE = {
    "malformed": b"404 page not found\r\n" * 50,
    "oversized": b"\xff\xff\xff\x00\x00\x00\x00\x00\x01" + bytes(1024 * 1024),
    "noise": os.urandom(64 * 1024),
}


def begun() -> None:
    """Shows the harness that the tool runs."""
    hold("begun")


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
def leave(roles: list[str]) -> None:
    descendants.leave(roles)


@tool
def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@tool
def large_result(megabytes: int) -> bytes:
    return bytes(megabytes * 1024 * 1024)


@tool
def speak_nonsense(kind: str) -> None:
    """Writes onto every connection of the conversation what does not belong there, and waits."""
    for connection in accepted():
        connection.setblocking(True)
        try:
            connection.sendall(NONSENSE[kind])
        except OSError:
            pass  # It was closed for what was written before.
    time.sleep(600)


def accepted() -> list[socket.socket]:
    """The connections to a socket of this process: they have its path as their own name."""
    connections = []
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        try:
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                continue
            connection = socket.socket(fileno=os.dup(descriptor))
            if connection.getsockname() and connection.getpeername() is not None:
                connections.append(connection)
        except OSError:
            continue  # A listener, or closed meanwhile.
    return connections
