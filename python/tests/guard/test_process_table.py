"""The process table, read from /proc in two ways with the same result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from snakepit_guard import process_table
from snakepit_guard.executable import candidates, check_executable
from snakepit_guard.process_table import children_of, descendants_of, look, parse_stat

TAIL = b" R 5 6 7 0 -1 4194560 1 0 0 0 3 0 0 0 20 0 1 0 4711 1 1"


def test_a_process_name_may_contain_anything() -> None:
    for name in (b"(a)", b"(a) R 1 1)", b"(\xff\n) Z 0 0 0)"):
        process = parse_stat(9, b"9 " + name + TAIL)
        assert process is not None
        assert (process.parent, process.group, process.session) == (5, 6, 7)
        assert (process.start, process.zombie) == (4711, False)


@pytest.mark.parametrize("text", [b"", b"9 (a", b"9 (a) R 5", b"9 (a) R x y z"])
def test_a_cut_line_is_no_process(text: bytes) -> None:
    assert parse_stat(9, text) is None


def test_this_process_is_found_and_a_free_pid_is_not() -> None:
    own = look(os.getpid())
    assert own is not None
    assert (own.parent, own.group) == (os.getppid(), os.getpgrp())
    assert look(2**22 + 1) is None
    assert children_of(2**22 + 1) == []


def test_children_are_the_same_whether_they_are_listed_or_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shell = subprocess.Popen(
        ["/bin/sh", "-c", "sleep 1000 & echo; wait"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with shell:
        assert shell.stdout is not None
        shell.stdout.readline()
        listed = children_of(shell.pid)
        assert len(listed) == 1
        assert listed == process_table._children_by_scan(shell.pid)
        below = {process.pid for process in descendants_of(os.getpid())}
        assert {shell.pid, *listed} <= below
        os.killpg(shell.pid, signal.SIGKILL)


def test_a_dead_child_is_a_zombie_until_it_is_reaped() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    seen = look(child.pid)
    assert seen is not None and seen.zombie
    assert child.pid in children_of(os.getpid())
    child.wait()
    assert child.pid not in children_of(os.getpid())


def test_a_program_is_searched_as_the_system_does() -> None:
    assert candidates(b"", {}) == []
    assert candidates(b"./x", {b"PATH": b"/a"}) == [b"./x"]
    assert candidates(b"x", {b"PATH": b"/a::/b"}) == [b"/a/x", b"x", b"/b/x"]
    assert candidates(b"x", {}) == [b"/bin/x", b"/usr/bin/x"]


def test_the_check_before_an_exec_predicts_its_error(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch(mode=0o600)
    check_executable([b"/nowhere", b"/bin/sh"])
    for paths, error in (
        ([], FileNotFoundError),
        ([b"/nowhere"], FileNotFoundError),
        ([b"/nowhere", bytes(tmp_path)], PermissionError),
        ([bytes(plain), b"/nowhere"], PermissionError),
        ([b"x" * 5000], OSError),
    ):
        with pytest.raises(error):
            check_executable(paths)
