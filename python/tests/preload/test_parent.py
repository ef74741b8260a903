"""A preloaded parent, started and asked as a host does it."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Host
from hypothesis import given
from hypothesis import strategies as st
from support.fake_host import FakeHost
from support.guard_host import DEADLINE_S, Death, encode_request

from snakepit_bridge.forking.protocol import (
    DESCRIPTORS,
    HEADER,
    About,
    End,
    FrameError,
    FrameReader,
    Start,
    encode_frame,
    parse_request,
)
from snakepit_bridge.preload.forked_worker import environment_block

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


# ---------------------------------------- The environment as it lies in memory

ENV = {b"A": b"1", b"SNAKEPIT_WORKER": b"w", b"LONG": b"x" * 40, b"SNAKEPIT_RUN": b"r"}
FIRST = b"SNAKEPIT_RUN=r\0SNAKEPIT_WORKER=w\0"


def test_the_markers_come_first_and_the_rest_is_padded() -> None:
    whole = environment_block(ENV, 200)
    assert whole.startswith(FIRST + b"A=1\0LONG=")
    assert len(whole) == 200
    assert whole.rstrip(b"\0").endswith(b"x" * 40)


def test_a_variable_without_room_is_left_out_and_not_cut() -> None:
    assert environment_block(ENV, len(FIRST) + 10) == FIRST + b"A=1\0" + b"\0" * 6
    assert environment_block(ENV, 3) == b"\0\0\0"


# ---------- What a preloaded parent imports that imports nothing of the user's

PRELOADS = """
import json, os, sys, threading
from types import SimpleNamespace
from snakepit_bridge.preload.program import preload

opened = set(os.listdir("/proc/self/fd"))
launch = SimpleNamespace(
    transport="framed", log_level=20, tool_path=[], modules=[], tools=[],
    imports_tools=False,
)
preload(launch)
facts = {
    "threads": len(os.listdir("/proc/self/task")),
    "opened": sorted(set(os.listdir("/proc/self/fd")) - opened),
}
before = set(sys.modules)
import numpy
facts["left"] = sorted(
    name
    for name in set(sys.modules) - before
    if name.partition(".")[0] in sys.stdlib_module_names
)
print(json.dumps(facts))
"""


def test_a_library_finds_what_it_needs_of_the_standard_library_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRELOADS], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    facts = json.loads(done.stdout)
    assert facts == {"threads": 1, "opened": [], "left": []}


# ------------- Frames are understood however they are cut, and nothing else is


def as_frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


bodies = st.lists(st.binary(max_size=30), max_size=5)


@given(bodies, st.lists(st.integers(0, 400), max_size=12))
def test_bodies_arrive_whole_and_in_order_however_the_bytes_are_split(
    sent: list[bytes], cuts: list[int]
) -> None:
    data = b"".join(map(as_frame, sent))
    edges = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    reader = FrameReader()
    got = [
        body
        for begin, end in itertools.pairwise(edges)
        for body in reader.feed(data[begin:end])
    ]
    assert got == sent


def test_an_answer_has_no_byte_that_it_does_not_need() -> None:
    assert encode_frame({"a": [1, 2]}) == b'\0\0\0\x0b{"a":[1,2]}'


def test_a_length_over_the_limit_is_refused_before_its_bytes_are_kept() -> None:
    with pytest.raises(FrameError, match="over 10"):
        FrameReader(10).feed((11).to_bytes(4, "big"))
    assert FrameReader(2).feed(as_frame(b"ab")) == [b"ab"]


# The same bytes as in packages/core/test/os/fork-messages.test.ts.
START = bytes.fromhex(
    "01 01020304 0e 00000002 0000000172756e2d3100 736800 2f00 2d6300 00 413dc3bc00"
)


def test_a_start_is_read_as_bytes_for_the_system() -> None:
    start = parse_request(START)
    assert isinstance(start, Start)
    assert (start.id, start.cwd) == (0x01020304, b"/")
    assert (start.args, start.env) == ([b"-c", b""], {b"A": b"\xc3\xbc"})
    assert start.descriptors == {1, 2, 3}


def test_the_value_of_a_variable_may_have_the_sign_that_ends_its_name() -> None:
    start = parse_request(START.replace(b"A=\xc3\xbc", b"A=b="))
    assert isinstance(start, Start)
    assert start.env == {b"A": b"b="}


def test_the_other_requests_name_a_start() -> None:
    for kind, what in ((2, "go"), (3, "discard"), (4, "reap")):
        about = parse_request(bytes([kind, 0, 0, 0, 7]))
        assert isinstance(about, About)
        assert (about.what, about.id) == (what, 7)
    assert isinstance(parse_request(b"\x05"), End)


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"\0",
        b"\x06",
        b"\x05\0",
        bytes([2, 0, 0, 7]),
        bytes([2, 0, 0, 0, 0, 7]),
        START[:14],
        START[:-1],
        START + b"x",
        START + b"\0",
        START.replace(b"\x0e", b"\x1e"),
        START.replace(b"A=", b"AB"),
        START.replace(b"A=", b"=A"),
        START.replace(b"\0\0\0\2", b"\xff\xff\xff\xff"),
    ],
)
def test_a_request_that_is_wrong_in_one_thing_is_refused(wrong: bytes) -> None:
    with pytest.raises(FrameError):
        parse_request(wrong)


changes = st.lists(
    st.tuples(st.integers(0, len(START) - 1), st.integers(0, 255)), max_size=4
)


@given(changes, st.integers(0, len(START)), st.binary(max_size=8))
def test_any_bytes_are_a_request_or_a_frame_error(
    changed: list[tuple[int, int]], kept: int, added: bytes
) -> None:
    body = bytearray(START)
    for place, byte in changed:
        body[place] = byte
    try:
        request = parse_request(bytes(body[:kept]) + added)
    except FrameError:
        return
    if isinstance(request, Start):
        assert not any(b"\0" in text for text in (*request.args, *request.env))
