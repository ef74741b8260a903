"""A host that the kernel takes down is seen to end before all it had open is closed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from snakepit_bridge.boot.lifeline import Lifeline, peer_exits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="seen in /proc")


class Listening:
    """A host in a process of its own, and what it listens with: that outlives it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        ready, write_end = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            # To the kernel the peer is the process that listens.
            self._listener.listen()
            os.write(write_end, b"1")
            signal.pause()
            os._exit(1)
        assert os.read(ready, 1) == b"1"
        os.close(ready)
        os.close(write_end)

    def kill(self) -> None:
        """Returns when it is dead, and not yet reaped."""
        os.kill(self._pid, signal.SIGKILL)
        os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        self._listener.close()


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Listening]:
    host = Listening(str(tmp_path / "l"))
    yield host
    host.close()


def test_a_connection_that_is_open_does_not_hide_the_end_of_its_host(
    listening: Listening,
) -> None:
    with socket.socket(socket.AF_UNIX) as mine:
        mine.connect(listening.path)
        assert not peer_exits(mine.fileno())
        listening.kill()
        assert peer_exits(mine.fileno())


def test_a_host_whose_first_thread_has_ended_lives(tmp_path: Path) -> None:
    told, tell = os.pipe()
    path = str(tmp_path / "l")
    host = os.fork()
    if host == 0:
        with contextlib.suppress(BaseException):
            listen_without_a_first_thread(path, tell)
        os._exit(1)
    try:
        assert os.read(told, 1) == b"!"
        with socket.socket(socket.AF_UNIX) as mine:
            mine.connect(path)
            assert not peer_exits(mine.fileno())
            os.kill(host, signal.SIGKILL)
            # Its end is left to be noticed, and what it had is closed.
            os.waitid(os.P_PID, host, os.WEXITED | os.WNOWAIT)
            assert peer_exits(mine.fileno())
    finally:
        os.kill(host, signal.SIGKILL)
        os.waitpid(host, 0)
        os.close(told)
        os.close(tell)


def listen_without_a_first_thread(path: str, tell: int) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    def run_on() -> None:
        state = ""
        while state != "Z":
            text = Path("/proc/self/stat").read_text()
            state = text[text.rindex(")") + 2]
        os.write(tell, b"!")
        signal.pause()

    threading.Thread(target=run_on).start()
    # exit(2), which ends one thread only.
    number = {"x86_64": 60, "aarch64": 93}[platform.machine()]
    ctypes.CDLL(None).syscall(number, 0)


def test_a_lifeline_that_is_open_does_not_hide_the_end_of_its_host(
    listening: Listening,
) -> None:
    asked, asking = os.pipe()
    answer, answered = os.pipe()
    # In a process of its own: a lifeline kills the one that has it.
    worker = os.fork()
    if worker == 0:
        lifeline = Lifeline(listening.path)
        while os.read(asked, 1):
            os.write(answered, b"1" if lifeline.ended() else b"0")
        os._exit(0)
    os.close(answered)
    try:
        os.write(asking, b"?")
        assert os.read(answer, 1) == b"0"
        listening.kill()
        os.write(asking, b"?")
        assert os.read(answer, 1) == b"1"
    finally:
        os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)
        for descriptor in (asked, asking, answer):
            os.close(descriptor)


def test_a_descriptor_that_is_not_a_socket_has_no_exiting_peer(tmp_path: Path) -> None:
    with open(tmp_path / "file", "wb") as file:
        assert not peer_exits(file.fileno())
