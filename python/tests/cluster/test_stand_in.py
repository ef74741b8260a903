"""A stand-in is to its host what the worker on the node is."""

from __future__ import annotations

import json
import select
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fake_host import DEADLINE_S, FakeHost

from snakepit_bridge.cluster.json_lines import line

# With those of an interpreter that runs nothing: there is one such process per worker.
MOST_MODULES = 100


class Gateway:
    """Listens as a gateway does."""

    def __init__(self, path: str) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self._listener.settimeout(DEADLINE_S)

    def accept(self) -> dict[str, Any]:
        """Takes the stand-in's connection; returns its first message."""
        self.connection, _ = self._listener.accept()
        self.connection.settimeout(DEADLINE_S)
        self._lines = self.connection.makefile("rb")
        return self.receive()

    def send(self, **message: Any) -> None:
        """Sends a message."""
        self.connection.sendall(line(**message))

    def receive(self) -> dict[str, Any]:
        """Returns the next message."""
        message: dict[str, Any] = json.loads(self._lines.readline())
        return message

    def hang_up(self) -> None:
        """Ends the connection."""
        self._lines.close()
        self.connection.close()

    def close(self) -> None:
        """Ends."""
        if hasattr(self, "connection"):
            self.hang_up()
        self._listener.close()


class StandIn:
    """A stand-in with its host and its gateway."""

    def __init__(self, directory: Path) -> None:
        path = str(directory / "g")
        self.gateway = Gateway(path)
        self.host = FakeHost(directory / "tools.py", companion={"socket": path})
        self.host.command = "stand-in"

    def start(self, **ready: Any) -> None:
        """Starts it up to the worker's ready line."""
        self.host.spawn()
        self.host.launch()
        assert self.gateway.accept() == self.host.message
        self.gateway.send(ready={"protocol": 1, **ready})
        self.host.ready = self.host.answer()["ready"]


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    one = StandIn(tmp_path)
    yield one
    one.host.close()
    one.gateway.close()


def test_it_is_ready_with_what_the_gateway_says(stand_in: StandIn) -> None:
    stand_in.start(node={"id": "n"})
    assert stand_in.host.ready == {"protocol": 1, "node": {"id": "n"}}


def test_it_writes_what_the_worker_writes(stand_in: StandIn) -> None:
    stand_in.start()
    for stream, text in (("stdout", "a\udcff"), ("stderr", "é")):
        stand_in.gateway.send(output={"stream": stream, "text": text})
    stand_in.gateway.send(exit={"code": 3})
    assert stand_in.host.exit_status() == 3
    assert stand_in.host.stdout() == "a\ufffd"
    assert stand_in.host.stderr() == "é"


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV"])
def test_it_ends_by_the_signal_that_ended_the_worker(
    stand_in: StandIn, name: str
) -> None:
    stand_in.start()
    stand_in.gateway.send(exit={"signal": name})
    assert stand_in.host.exit_status() == -signal.Signals[name]


def test_a_failed_start_is_reported_as_the_workers_own(stand_in: StandIn) -> None:
    stand_in.host.spawn()
    stand_in.host.launch()
    stand_in.gateway.accept()
    words = {"code": "RESOURCES_UNAVAILABLE", "message": "none", "detail": "at all"}
    stand_in.gateway.send(failed=words)
    stand_in.gateway.send(exit={"code": 70})
    assert stand_in.host.answer() == {"failed": words}
    assert stand_in.host.exit_status() == 70


@pytest.mark.parametrize("name", ["SIGTERM", "SIGQUIT", "SIGUSR1"])
def test_signals_of_the_host_go_to_the_worker(stand_in: StandIn, name: str) -> None:
    stand_in.start()
    stand_in.host.signal(signal.Signals[name])
    assert stand_in.gateway.receive() == {"signal": name}


def test_sigterm_before_the_worker_is_ready_ends_it_at_once(stand_in: StandIn) -> None:
    stand_in.host.spawn()
    stand_in.host.launch()
    stand_in.gateway.accept()
    stand_in.host.signal(signal.SIGTERM)
    assert stand_in.host.exit_status() == 0


@pytest.mark.parametrize("data", [b"", b"{}}\n", b'{"output": 3}\n'])
def test_without_a_gateway_there_is_no_worker(stand_in: StandIn, data: bytes) -> None:
    stand_in.start()
    stand_in.gateway.connection.sendall(data)
    if not data:
        stand_in.gateway.hang_up()
    assert stand_in.host.exit_status() == 70
    assert "the gateway of the cluster is gone" in stand_in.host.stderr()


def test_it_ends_with_its_host(stand_in: StandIn) -> None:
    stand_in.start()
    lifelines = [stand_in.host.lifeline.accept()[0] for _ in range(2)]
    lifelines[0].close()
    assert stand_in.host.exit_status() == -signal.SIGKILL
    assert select.select([stand_in.gateway.connection], [], [], DEADLINE_S)[0]
    lifelines[1].close()


WITH_USAGE = """\
import os, sys
os.dup2(os.open(sys.argv.pop(1), os.O_CREAT | os.O_WRONLY), 4)
from snakepit_bridge.__main__ import main
sys.exit(main(sys.argv[1:]))
"""

SHOWS_MODULES = """\
import sys
from snakepit_bridge.__main__ import main
import snakepit_bridge.cluster.stand_in as stand_in
end = stand_in._end_like
def tell(how):
    sys.stdout.write(" ".join(sys.modules))
    end(how)
stand_in._end_like = tell
sys.exit(main(sys.argv[1:]))
"""


def test_usage_is_for_descriptor_4(stand_in: StandIn, tmp_path: Path) -> None:
    usage = tmp_path / "usage"
    stand_in.host.program = ["-u", "-c", WITH_USAGE, str(usage)]
    stand_in.start()
    stand_in.gateway.send(usage={"cpuMs": 7, "residentBytes": 9})
    stand_in.gateway.send(exit={"code": 0})
    assert stand_in.host.exit_status() == 0
    assert json.loads(usage.read_text()) == {"cpuMs": 7, "residentBytes": 9}


def test_without_descriptor_4_usage_goes_nowhere(stand_in: StandIn) -> None:
    stand_in.start()
    stand_in.gateway.send(usage={"cpuMs": 7, "residentBytes": 9})
    stand_in.gateway.send(exit={"code": 0})
    assert stand_in.host.exit_status() == 0


def test_it_imports_little(stand_in: StandIn) -> None:
    stand_in.host.program = ["-u", "-c", SHOWS_MODULES]
    stand_in.start()
    stand_in.gateway.send(exit={"code": 0})
    assert stand_in.host.exit_status() == 0
    modules = stand_in.host.stdout().split()
    assert "snakepit_bridge.cluster.stand_in" in modules
    assert len(modules) <= MOST_MODULES, "\n".join(sorted(modules))
