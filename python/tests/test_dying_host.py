"""A host that the kernel takes down is seen to end before all it had open is closed."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from snakepit_bridge.boot.lifeline import peer_exits


@pytest.mark.skipif(sys.platform != "linux", reason="seen in /proc")
def test_a_connection_that_is_open_does_not_hide_the_end_of_its_host(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "l")
    with (
        socket.socket(socket.AF_UNIX) as listener,
        socket.socket(socket.AF_UNIX) as mine,
    ):
        listener.bind(path)
        ready, told = os.pipe()
        host = os.fork()
        if host == 0:
            # Who listens is who is at the other end, for the kernel.
            listener.listen()
            os.write(told, b"1")
            signal.pause()
            os._exit(1)
        try:
            assert os.read(ready, 1) == b"1"
            mine.connect(path)
            assert not peer_exits(mine.fileno())
        finally:
            os.kill(host, signal.SIGKILL)
            # It is dead, and not yet reaped; we hold what it listened with.
            os.waitid(os.P_PID, host, os.WEXITED | os.WNOWAIT)
            try:
                assert peer_exits(mine.fileno())
            finally:
                os.waitpid(host, 0)
                os.close(ready)
                os.close(told)


def test_a_descriptor_that_is_no_socket_tells_nothing(tmp_path: Path) -> None:
    with open(tmp_path / "file", "wb") as file:
        assert not peer_exits(file.fileno())
