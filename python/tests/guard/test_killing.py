"""A guard signals the process that it saw, never a later owner of its pid."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Literal

import pytest

from snakepit_guard import killing
from snakepit_guard.process_table import Process, look

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

# Its child leads a group in which there is one more; both sleep.
_FAMILY = """
import os, signal
read_end, write_end = os.pipe()
leader = os.fork()
if leader == 0:
    os.setsid()
    member = os.fork()
    if member == 0:
        signal.pause()
    os.write(write_end, f"{os.getpid()} {member}".encode())
    signal.pause()
print(os.read(read_end, 99).decode(), flush=True)
signal.sigwait([signal.SIGTERM])
"""


@pytest.fixture
def grandchildren() -> Iterator[list[Process]]:
    """A group of another process's child, its leader first."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    try:
        parent = subprocess.Popen(
            [sys.executable, "-c", _FAMILY], stdout=subprocess.PIPE, text=True
        )
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    with parent:
        assert parent.stdout is not None
        seen = [look(int(pid)) for pid in parent.stdout.readline().split()]
        family = [each for each in seen if each is not None]
        assert len(family) == 2
        yield family
        for each in family:
            killing.kill_exactly(each.pid, each.start)
        parent.kill()


def _dies(process: Process) -> bool:
    """Waits until this process is dead; the test's own limit of time ends it otherwise."""
    while True:
        seen = look(process.pid)
        if seen is None or seen.start != process.start or seen.zombie:
            return True


def _lives(process: Process) -> bool:
    seen = look(process.pid)
    return seen is not None and seen.start == process.start and not seen.zombie


def test_the_leader_of_a_group_that_is_not_our_child_is_killed(
    grandchildren: list[Process],
) -> None:
    """With the whole group where the kernel can; its leader anywhere."""
    leader, _ = grandchildren
    assert killing.kill_exactly(leader.pid, leader.start, "group") == "sent"
    assert _dies(leader)


@pytest.mark.parametrize("reach", ["group", "process"])
def test_a_process_that_has_a_reused_pid_is_not_killed(
    grandchildren: list[Process], reach: Literal["group", "process"]
) -> None:
    """A start time that differs is another process."""
    leader, member = grandchildren
    assert killing.kill_exactly(leader.pid, leader.start - 1, reach) == "gone"
    assert _lives(leader)
    assert _lives(member)


# A child that has ended and was not reaped, and one that it left in its group.
_WIDOWER = """
import os, signal
from snakepit_guard.killing import kill_until_none
from snakepit_guard.wakeup import Wakeup
read_end, write_end = os.pipe()
child = os.fork()
if child == 0:
    os.setsid()
    member = os.fork()
    if member == 0:
        signal.pause()
    os.write(write_end, str(member).encode())
    os._exit(0)
member = os.read(read_end, 16).decode()
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
print(member, flush=True)
input()
print(kill_until_none(Wakeup(), lambda _: None), flush=True)
"""


def test_the_group_of_a_dead_child_is_killed_before_the_child_is_reaped() -> None:
    """Until then no other group can have its number, and its members descend from us."""
    with subprocess.Popen(
        [sys.executable, "-c", _WIDOWER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as guard:
        assert guard.stdin is not None
        assert guard.stdout is not None
        member = look(int(guard.stdout.readline()))
        assert member is not None
        assert _lives(member)
        guard.stdin.write("\n")
        guard.stdin.flush()
        # It is not a child of the guard, which is no subreaper here: only the group reaches it.
        assert guard.stdout.readline() == "0\n"
        assert _dies(member)
