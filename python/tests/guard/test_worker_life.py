"""A worker of the guard is what it would be with its host as the parent."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.guard_host import GuardHost, encode_request
from support.process_table import look

Guard = Callable[[], GuardHost]

# As native/src/guard/guard.h has them.
ENDED, PROTOCOL_BROKEN = 0, 66


def request(id: int, descriptors: list[str]) -> dict[str, Any]:
    return {
        "id": id,
        "executable": "true",
        "args": [],
        "env": {},
        "cwd": "/",
        "label": None,
        "descriptors": descriptors,
    }


TELLS = """
import json, os, signal, sys
from fcntl import fcntl, F_GETFL
ignored = [n for n in signal.valid_signals() if signal.getsignal(n) == signal.SIG_IGN]
print(json.dumps({
    "open": sorted(int(n) for n in os.listdir("/proc/self/fd")),
    "blocking": not fcntl(1, F_GETFL) & os.O_NONBLOCK,
    "stdin": os.readlink("/proc/self/fd/0"),
    "args": sys.argv[1:], "cwd": os.getcwd(), "env": sorted(os.environ),
    "leads": os.getsid(0) == os.getpgrp() == os.getpid(),
    "ignored": [int(n) for n in ignored],
    "mask": [int(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, ())],
}), flush=True)
"""


def test_a_worker_leads_a_session_and_has_only_what_it_was_given(
    guard: Guard,
) -> None:
    host = guard()
    program = [sys.executable, "-S", "-c", TELLS, "ü", ""]
    worker = host.start(program, env={"A": "1", "PATH": "/bin"})
    report = json.loads(worker.read_line())
    # One more is open while the folder is read.
    assert report["open"] == [0, 1, 2, 3]
    assert report["stdin"] == "/dev/null"
    assert report["args"] == ["ü", ""]
    assert report["cwd"] == str(host.directory)
    assert set(report["env"]) - {"LC_CTYPE"} == {"A", "PATH"}
    assert report["blocking"] and report["leads"] and report["mask"] == []
    # Python itself ignores these two.
    assert set(report["ignored"]) <= {signal.SIGPIPE, signal.SIGXFSZ}


def test_input_and_control_channel_are_the_host_s_connections(guard: Guard) -> None:
    host = guard()
    script = "read a; echo out $a; read b <&3; echo back $b >&3; echo err >&2"
    worker = host.start(
        ["sh", "-c", script], descriptors=["stdin", "stdout", "stderr", "control"]
    )
    worker.sockets["stdin"].sendall(b"one\n")
    worker.sockets["control"].sendall(b"two\n")
    assert worker.read_line() == "out one"
    assert worker.sockets["control"].recv(20) == b"back two\n"
    assert worker.sockets["stderr"].recv(20) == b"err\n"
    assert host.expect("exited")["status"] == 0


def test_a_worker_is_held_until_it_is_released(guard: Guard, tmp_path: Path) -> None:
    host = guard()
    trace = tmp_path / "trace"
    worker = host.ask(["touch", str(trace)])
    held = host.expect("held")
    seen = look(held["pid"])
    assert seen is not None
    assert seen.group == seen.session == seen.pid == held["pid"]
    # The guard has done everything it will do: it answers what comes later.
    other = host.ask(["/nowhere"])
    assert host.expect("failed")["id"] == other.id
    assert not trace.exists()
    host.send("go", id=worker.id)
    assert host.expect("running")["id"] == worker.id
    assert host.expect("exited") == {
        "type": "exited",
        "id": worker.id,
        "how": "code",
        "status": 0,
    }
    assert trace.exists()


def test_its_end_is_reported_and_its_pid_is_kept_until_the_host_has_recorded_it(
    guard: Guard,
) -> None:
    host = guard()
    for ending, how, status in (
        ("exit 7", "code", 7),
        ("kill -USR1 $$", "signal", signal.SIGUSR1),
    ):
        worker = host.start(["sh", "-c", ending])
        end = host.expect("exited")
        assert (end["id"], end["how"], end["status"]) == (worker.id, how, status)
        dead = look(worker.pid)
        assert dead is not None and dead.zombie
        host.send("reap", id=worker.id)
        ask_something(host)
        assert look(worker.pid) is None


def ask_something(host: GuardHost) -> None:
    """Returns when everything that was sent before has been done."""
    asked = host.ask(["/nowhere"])
    assert host.expect("failed")["id"] == asked.id


def test_a_worker_can_be_discarded_at_any_moment(guard: Guard) -> None:
    host = guard()
    awaited = host.ask(["sleep", "1000"], descriptors=[])
    host.expect("held")
    host.send("discard", id=awaited.id)
    host.sent += 1
    host.send("start", **request(host.sent, ["stdout"]))
    host.send("discard", id=host.sent)
    running = host.start(["sleep", "1000"])
    death = host.watch(running.pid)
    host.send("discard", id=running.id)
    assert death.within()
    ask_something(host)
    assert [look(running.pid)] == [None]


def test_a_script_without_an_interpreter_line_is_run_by_the_shell(
    guard: Guard, tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text("echo $1\n")
    script.chmod(0o700)
    assert guard().start([str(script), "hello"]).read_line() == "hello"


def test_adopted_orphans_are_reaped_when_they_end(guard: Guard) -> None:
    host = guard()
    # The middle one ends at once; its child is the guard's then, and ends later.
    worker = host.start(
        ["sh", "-c", "(sh -c 'echo $$; read x' <&3 &) ; read y"],
        descriptors=["stdout", "stderr", "control", "stdin"],
    )
    orphan = int(worker.read_line())
    # It may have said so before the middle one ended.
    while (seen := look(orphan)) is not None and seen.parent != host.inner.pid:
        ask_something(host)
    assert seen is not None
    end = host.watch(orphan)
    worker.sockets["control"].sendall(b"\n")
    assert end.within()
    while look(orphan) is not None:
        ask_something(host)
    worker.sockets["stdin"].sendall(b"\n")
    assert host.expect("exited")["id"] == worker.id


def test_the_end_of_a_run_leaves_nothing(guard: Guard) -> None:
    host = guard()
    _, deaths = host.beast("has_a_tree")
    host.send("end")
    assert host.expect("ended")["killed"] == 3
    assert all(death.within() for death in deaths)
    assert host.exit_status() == ENDED
    assert not host.incidents.exists()
    assert not Path(host.socket).exists()


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xff\xff\xff",
        b"\0\0\0\0",
        b"\0\0\0\1x",
        encode_request("start", **request(1, [])),
    ],
)
def test_a_host_that_breaks_the_protocol_loses_its_workers(
    guard: Guard, data: bytes
) -> None:
    host = guard()
    _, deaths = host.beast("has_a_tree")
    host.link.sendall(data)
    assert host.exit_status() == PROTOCOL_BROKEN
    assert all(death.within() for death in deaths)


STRANGER = """
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.settimeout(20)
connection.connect(sys.argv[1])
sys.exit(connection.recv(1) != b"")
"""


def test_connections_of_other_processes_or_for_unknown_starts_change_nothing(
    guard: Guard,
) -> None:
    host = guard()
    # Another process of the same user is refused before it has said anything.
    stranger = subprocess.run(
        [sys.executable, "-S", "-c", STRANGER, host.socket], check=False
    )
    assert stranger.returncode == 0
    half = host.connect(50, "stdout")
    half.close()
    for number in range(100):
        host.connect(1000 + number, "stdout").close()
    assert host.start(["echo", "here"]).read_line() == "here"
