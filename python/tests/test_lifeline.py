"""No worker outlives its host, nor does a child of a worker in its group.

Every living process holds a pipe that the test reads: its end proves that all are dead.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import TOOLS, Host
from support.effort import THOROUGH

from snakepit_bridge.boot.lifeline import Lifeline, peer_exits

# The promise. It is milliseconds, see docs/chaos-results.md; the rest is for a machine that
# does something else.
WITHIN_S = 1.0


class WorkerWithHost:
    """A host in a process of its own, and the pipe that its worker holds."""

    def __init__(self, **wanted: Any) -> None:
        self._pipe, write_end = os.pipe()
        wanted.setdefault("tools", str(TOOLS / "mortal.py"))
        self.host = subprocess.Popen(
            [sys.executable, "-m", "support.host_process", json.dumps(wanted)],
            cwd=TOOLS.parent,
            stdout=subprocess.PIPE,
            pass_fds=[write_end],
        )
        os.close(write_end)
        assert self.host.stdout is not None
        line = self.host.stdout.readline()
        assert line, "the host did not get that far"
        self.facts = json.loads(line)

    def kill_host(self) -> None:
        self.host.kill()
        self.host.wait()

    def all_dead(self, within: float = WITHIN_S) -> bool:
        return bool(select.select([self._pipe], [], [], within)[0])

    def close(self) -> None:
        self.kill_host()
        assert self.host.stdout is not None
        self.host.stdout.close()
        os.close(self._pipe)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.facts["worker"], signal.SIGKILL)
        shutil.rmtree(self.facts["directory"])


@pytest.fixture
def started() -> Iterator[Any]:
    made: list[WorkerWithHost] = []

    def make(**wanted: Any) -> WorkerWithHost:
        made.append(WorkerWithHost(**wanted))
        return made[-1]

    yield make
    for one in made:
        one.close()


KERNEL = sys.platform == "linux"
BUSY = ["idle", "busy", "has_children", "forks"]
needs_kernel = pytest.mark.skipif(not KERNEL, reason="only Linux can signal by itself")


@pytest.mark.parametrize("during", BUSY)
def test_a_worker_and_its_children_die_with_the_host(started: Any, during: str) -> None:
    one = started(during=during)
    assert not one.all_dead(within=0)
    one.kill_host()
    assert one.all_dead()


@needs_kernel
def test_a_worker_dies_with_the_host_while_c_code_holds_the_gil(started: Any) -> None:
    one = started(during="holds_the_gil")
    one.kill_host()
    assert one.all_dead()


@needs_kernel
@pytest.mark.parametrize("during", BUSY)
def test_a_stopped_worker_dies_with_the_host(started: Any, during: str) -> None:
    one = started(during=during, stopped=True)
    one.kill_host()
    assert one.all_dead()


def test_a_worker_dies_with_the_host_at_any_moment_of_its_start(started: Any) -> None:
    chance = random.Random(4)
    for _ in range(12 if THOROUGH else 6):
        one = started(during="start", after=chance.uniform(0, 0.25))
        one.kill_host()
        assert one.all_dead()


def test_a_worker_dies_with_the_host_while_its_tools_are_imported(
    started: Any, tmp_path: Path
) -> None:
    tools = tmp_path / "slow_to_import.py"
    tools.write_text("import sys, time\nsys.stderr.write('x')\ntime.sleep(600)\n")
    one = started(during="start", after=0.3, tools=str(tools))
    assert not one.all_dead(within=0)
    one.kill_host()
    assert one.all_dead()


# Where the kernel cannot signal, a thread does: the same promise, but for a GIL
# that is held and for a process that is stopped.
REFUSED = (
    "import sys\n"
    "from snakepit_bridge.boot import lifeline\n"
    "lifeline._arm = lambda connection: False\n"
    "from snakepit_bridge.__main__ import main\n"
    "sys.exit(main(sys.argv[1:]))\n"
)


@pytest.mark.parametrize("during", BUSY)
def test_a_thread_watches_if_the_kernel_refuses(started: Any, during: str) -> None:
    one = started(during=during, program=["-u", "-c", REFUSED])
    one.kill_host()
    assert one.all_dead()


def test_the_ready_line_names_what_watches(host: Host) -> None:
    assert host("greeter").start().ready["lifeline"] == (
        "kernel" if KERNEL else "thread"
    )
    watched_by_thread = host("greeter")
    watched_by_thread.program = ["-u", "-c", REFUSED]
    assert watched_by_thread.start().ready["lifeline"] == "thread"


def test_a_worker_whose_host_is_gone_before_it_connects_ends_at_once(
    host: Host,
) -> None:
    fake = host("greeter")
    fake.lifeline.close()
    fake.spawn()
    fake.launch()
    assert fake.exit_status() == 71
    assert "the host is gone" in fake.stderr()


def test_a_worker_whose_host_ends_without_a_launch_message_ends_at_once(
    host: Host,
) -> None:
    fake = host("greeter")
    fake.spawn()
    fake.channel.shutdown(2)
    assert fake.exit_status() == 71


def test_a_worker_connects_twice_and_sends_nothing(start: Host) -> None:
    worker = start("greeter")
    connections = [worker.lifeline.accept()[0] for _ in range(2)]
    assert select.select([worker.lifeline, *connections], [], [], 0)[0] == []
    for connection in connections:
        connection.close()


def test_one_closed_connection_is_enough(start: Host) -> None:
    worker = start("greeter")
    first, _ = worker.lifeline.accept()
    began = time.monotonic()
    first.close()
    assert worker.exit_status() == -signal.SIGKILL
    assert time.monotonic() - began < WITHIN_S


# --------------- What no Python object holds cannot be closed by one that ends

PROGRAM = """
import sys, time
from snakepit_bridge.boot.lifeline import Lifeline
Lifeline(sys.argv[1])
print("tied", flush=True)
time.sleep(60)
"""


def test_a_lifeline_works_although_its_object_was_freed(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "l")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, path],
            stdout=subprocess.PIPE,
            start_new_session=True,
        ) as child:
            connections = [listener.accept()[0] for _ in range(2)]
            try:
                assert child.stdout is not None
                assert child.stdout.readline() == b"tied\n"
                for connection in connections:
                    connection.close()
                assert child.wait(timeout=20) == -signal.SIGKILL
            finally:
                for connection in connections:
                    connection.close()
                child.kill()


# -------- A host that the kernel takes down is seen to end before all it had open is closed

linux = pytest.mark.skipif(sys.platform != "linux", reason="seen in /proc")


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


@linux
def test_a_connection_that_is_open_does_not_hide_the_end_of_its_host(
    listening: Listening,
) -> None:
    with socket.socket(socket.AF_UNIX) as mine:
        mine.connect(listening.path)
        assert not peer_exits(mine.fileno())
        listening.kill()
        assert peer_exits(mine.fileno())


@linux
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


@linux
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


@linux
def test_a_descriptor_that_is_not_a_socket_has_no_exiting_peer(tmp_path: Path) -> None:
    with open(tmp_path / "file", "wb") as file:
        assert not peer_exits(file.fileno())
