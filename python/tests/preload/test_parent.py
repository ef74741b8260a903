"""A preloaded parent, started and asked as a host does it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Host
from support.fake_host import FakeHost
from support.guard_host import DEADLINE_S, Death, encode_request

from snakepit_bridge.forking.protocol import DESCRIPTORS, HEADER, FrameReader

TOOLS = """
from snakepit_bridge import tool

@tool
def f() -> int:
    return 1
"""


class Parent:
    """A parent that is ready."""

    def __init__(self, fake: FakeHost) -> None:
        self.fake = fake
        self.fake.command = "preload"
        self.fake.message["payload"].update(
            modules=[], importTools=True, hostPid=os.getpid()
        )
        self._reader = FrameReader()
        self._inbox: list[dict[str, Any]] = []
        self.deaths: list[Death] = []
        self.sockets: list[socket.socket] = []

    def ask(self, type: str, **fields: object) -> None:
        self.fake.channel.sendall(encode_request(type, **fields))

    def expect(self, type: str) -> dict[str, Any]:
        while not self._inbox:
            data = self.fake.channel.recv(65536)
            assert data, f"no {type}"
            self._inbox += map(json.loads, self._reader.feed(data))
        message = self._inbox.pop(0)
        assert message["type"] == type, message
        return message

    def start(self, id: int, args: list[str] | None = None) -> dict[str, socket.socket]:
        """Asks for a worker, which is not yet let go."""
        usual = ["-m", "snakepit_bridge", "worker", "--run-id", self.fake.run_id]
        self.ask(
            "start",
            id=id,
            label=None,
            executable="python",
            args=usual if args is None else args,
            env={**os.environ, "SNAKEPIT_WORKER": f"{self.fake.run_id}-{id}"},
            cwd="/",
            descriptors=["stdout", "stderr", "control"],
        )
        sockets = {}
        for name in ("stdout", "stderr", "control"):
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(DEADLINE_S)
            connection.connect(self.fake.socket_path)
            connection.sendall(HEADER.pack(id, DESCRIPTORS[name]))
            sockets[name] = connection
            self.sockets.append(connection)
        return sockets

    def watch(self, pid: int) -> Death:
        death = Death(pid)
        self.deaths.append(death)
        return death


def handles(pid: int, number: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    (caught,) = re.findall(r"^SigCgt:\s*(\w+)$", status, re.MULTILINE)
    return bool(int(caught, 16) >> (number - 1) & 1)


@pytest.fixture
def parent(host: Host) -> Iterator[Parent]:
    started = Parent(host(TOOLS))
    started.fake.start()
    yield started
    for death in started.deaths:
        death.close()
    for connection in started.sockets:
        connection.close()


def test_a_child_is_held_until_it_is_released(parent: Parent) -> None:
    sockets = parent.start(1)
    held = parent.expect("held")
    worker = parent.watch(held["pid"])
    assert os.getsid(held["pid"]) == held["pid"]
    with open(f"/proc/{held['pid']}/environ", "rb") as shown:
        assert f"SNAKEPIT_WORKER={parent.fake.run_id}-1".encode() in shown.read()
    parent.ask("go", id=1)
    assert parent.expect("running")["id"] == 1
    # Without a launch message it waits; the end of its channel is its host's.
    sockets["control"].close()
    assert worker.within()
    assert parent.expect("exited") == {
        "type": "exited",
        "id": 1,
        "how": "code",
        "status": 71,
    }


def test_a_child_that_is_held_dies_with_its_parent(parent: Parent) -> None:
    parent.start(1)
    worker = parent.watch(parent.expect("held")["pid"])
    parent.fake.signal(signal.SIGKILL)
    assert worker.within()


def test_the_end_of_the_host_ends_parent_and_held_child(parent: Parent) -> None:
    parent.start(1)
    worker = parent.watch(parent.expect("held")["pid"])
    itself = parent.watch(parent.fake.pid)
    # The process that accepts the lifeline is the host.
    parent.fake.lifeline.accept()[0].close()
    assert itself.within()
    assert worker.within()


def test_a_parent_writes_its_stacks_while_it_imports_and_not_later(host: Host) -> None:
    hangs = "import time\nprint('imports', flush=True) or time.sleep(600)\n"
    importing = Parent(host(hangs))
    importing.fake.spawn()
    importing.fake.launch()
    importing.fake.wait_for_stdout("imports")
    importing.fake.signal(signal.SIGQUIT)
    importing.fake.wait_for_stderr('tools_0.py", line 2')
    ready = Parent(host(TOOLS))
    ready.fake.start()
    assert handles(importing.fake.pid, signal.SIGQUIT)
    assert not handles(ready.fake.pid, signal.SIGQUIT)


def test_a_program_other_than_a_worker_is_refused(parent: Parent) -> None:
    parent.start(1, ["-c", "print(1)"])
    failed = parent.expect("failed")
    assert "forks only workers of the bridge" in failed["message"]


def test_a_parent_ends_when_the_host_ends_it(parent: Parent) -> None:
    parent.ask("end")
    assert parent.fake.exit_status() == 0


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("import socket\nkept = socket.socketpair()", "FORK_UNSAFE_CONNECTIONS"),
        (
            "import threading as t\nt.Thread(target=t.Event().wait, daemon=True).start()",
            "FORK_UNSAFE_THREADS",
        ),
        ("import os\nkept = os.pipe()", "FORK_UNSAFE_CONNECTIONS"),
        (
            "import tempfile\nkept = [tempfile.TemporaryFile()]",
            "FORK_UNSAFE_FILES",
        ),
        (
            "import sqlite3\nkept = sqlite3.connect(__file__ + '.db')",
            "FORK_UNSAFE_FILES",
        ),
        ("raise SystemExit(3)", "PRELOAD_FAILED"),
    ],
)
def test_an_import_that_makes_a_fork_unsafe_is_reported(
    host: Host, tmp_path: Path, source: str, code: str
) -> None:
    started = Parent(host(source + "\n"))
    started.fake.spawn()
    started.fake.launch()
    assert started.fake.answer()["failed"]["code"] == code
    assert started.fake.exit_status() == 70


def test_a_refused_file_is_reported_with_the_module_that_holds_it(
    host: Host, tmp_path: Path
) -> None:
    records = tmp_path / "records.csv"
    (tmp_path / "ledger.py").write_text(
        f"class Ledger:\n    file = open({str(records)!r}, 'w')\nBOOK = Ledger()\n"
    )
    started = Parent(host("import ledger\n"))
    started.fake.spawn()
    started.fake.launch()
    failed = started.fake.answer()["failed"]
    assert failed["code"] == "FORK_UNSAFE_FILES"
    assert f"{records} (of ledger.Ledger) is open for writing" in failed["message"]
