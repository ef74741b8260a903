"""Measures what ends a tree of processes, and what that costs: `python -m support.measure_guard`.

Every round has a host process of its own, two workers (one with a child deaf to
SIGTERM and a daemon that cannot be found, one that forks without end), and kills
somebody. Everything below the host's protection is in a control group of the round:
the kernel tells the moment when nothing is left in it, and what is left is counted
there, by nobody's parent. Needs Linux, root, and a writable cgroup v2.

Forms: `chain` (one chain of guards per run), `chain-each` (one per worker), `cgroup`
(no guard: a watcher with the lifeline writes `cgroup.kill`).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from support.guard_host import BESTIARY, GuardHost

CGROUPS = Path("/sys/fs/cgroup/unified")
WITHIN_S = 1.0
WORKERS = [["has_a_tree"], ["forks_without_end", "stays"]]

WATCHER = """
import os, select, sys
os.write(1, b"up\\n")
poll = select.poll()
poll.register(0, select.POLLRDHUP)
poll.poll()
with open(sys.argv[1], "w") as kill:
    kill.write("1")
"""


class ControlGroup:
    """A control group of one round. Only what was put into it is ever killed by it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self._events = os.open(path / "cgroup.events", os.O_RDONLY)

    def enter(self) -> None:
        """Puts this process into it."""
        (self.path / "cgroup.procs").write_text("0")

    def pids(self) -> list[int]:
        return [int(pid) for pid in (self.path / "cgroup.procs").read_text().split()]

    def empty_within(self, seconds: float) -> bool:
        """Waits until the kernel reports that nothing is left in it."""
        poll = select.poll()
        poll.register(self._events, select.POLLPRI)
        until = time.monotonic() + seconds
        while b"populated 0" not in os.pread(self._events, 200, 0):
            left = until - time.monotonic()
            if left <= 0:
                return False
            poll.poll(left * 1000)
        return True

    def close(self) -> None:
        (self.path / "cgroup.kill").write_text("1")
        self.empty_within(10)
        os.close(self._events)
        self.path.rmdir()


class Round:
    """A host in a process of its own, up and ready to be killed."""

    def __init__(self, form: str, group: ControlGroup, directory: Path) -> None:
        read_end, write_end = os.pipe()
        self.host = os.fork()
        if self.host == 0:
            try:
                os.setsid()
                hosts: list[
                    GuardHost
                ] = []  # What lives here is closed by no collection.
                pids = live(form, group, directory, hosts)
                os.write(write_end, json.dumps(pids).encode() + b"\n")
                while True:
                    signal.pause()
            finally:
                os._exit(1)
        os.close(write_end)
        with os.fdopen(read_end) as lines:
            line = lines.readline()
        assert line, "the host did not get that far"
        known: dict[str, int] = {"host": self.host, **json.loads(line)}
        # The second process may be gone by then, and its pid reused.
        self._alive = {who: os.pidfd_open(pid) for who, pid in known.items()}

    def strike(self, whom: list[str]) -> None:
        for one in whom:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._alive[one], signal.SIGKILL)

    def close(self) -> None:
        self.strike(["host"])
        os.waitpid(self.host, 0)
        for pidfd in self._alive.values():
            os.close(pidfd)


def live(
    form: str, group: ControlGroup, directory: Path, hosts: list[GuardHost]
) -> dict[str, int]:
    """In the host: starts its protection and workers; returns who can be killed."""
    if form == "cgroup":
        watcher = watch(group)
        workers = [spawn_in(group, worker) for worker in WORKERS]
        return {"watcher": watcher, "worker": workers[0]}
    for n in range(len(WORKERS) if form == "chain-each" else 1):
        (directory / str(n)).mkdir()
        hosts.append(GuardHost(directory / str(n), preexec=group.enter))
    pids: dict[str, int] = {}
    for n, (habit, *args) in enumerate(WORKERS):
        host = hosts[n % len(hosts)]
        worker, _ = host.beast(habit, *args)
        pids.setdefault("worker", worker.pid)
    return {
        **pids,
        "outer": hosts[0].outer.pid,
        "middle": hosts[0].middle.pid,
        "inner": hosts[0].inner.pid,
    }


def watch(group: ControlGroup) -> int:
    lifeline, end = os.pipe()
    del end  # Held until this host dies.
    watcher = subprocess.Popen(
        [sys.executable, "-I", "-S", "-E", "-c", WATCHER, group.path / "cgroup.kill"],
        stdin=lifeline,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert watcher.stdout is not None
    watcher.stdout.readline()
    return watcher.pid


def spawn_in(group: ControlGroup, worker: list[str]) -> int:
    habit, *args = worker
    child = subprocess.Popen(
        [sys.executable, str(BESTIARY / f"{habit}.py"), *args],
        stdout=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=group.enter,  # noqa: PLW1509
    )
    assert child.stdout is not None
    child.stdout.readline()
    return child.pid


CASES: dict[str, list[list[str]]] = {
    "chain": [
        ["host"],
        ["outer"],
        ["inner"],
        ["outer", "middle"],
        ["outer", "inner"],
        ["middle", "inner"],
        ["host", "outer"],
        ["host", "inner"],
        ["worker", "inner"],
        ["host", "outer", "inner"],
        ["outer", "middle", "inner"],
    ],
    "chain-each": [["host"]],
    "cgroup": [["host"], ["watcher"], ["host", "watcher"]],
}


@contextlib.contextmanager
def round_of(form: str, number: int) -> Iterator[tuple[Round, ControlGroup]]:
    name = f"snakepit-measure-{os.getpid()}-{number}"
    with tempfile.TemporaryDirectory(prefix="snakepit-") as directory:
        group = ControlGroup(CGROUPS / name)
        try:
            one = Round(form, group, Path(directory))
            try:
                yield one, group
            finally:
                one.close()
        finally:
            group.close()


def main() -> None:
    """Prints a row of figures for each form and case."""
    parser = argparse.ArgumentParser(description="what ends a tree, and what it costs")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--form", choices=[*CASES], action="append")
    wanted = parser.parse_args()
    print(
        f"{platform.release()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    )
    print(f"{'form':10} {'killed':18} rounds  left/in  p50 ms  p99 ms  max ms")
    number = 0
    for form in wanted.form or CASES:
        for whom in CASES[form]:
            times, left, rounds_left = [], 0, 0
            for _ in range(wanted.rounds):
                number += 1
                with round_of(form, number) as (one, group):
                    began = time.perf_counter()
                    one.strike(whom)
                    if group.empty_within(WITHIN_S):
                        times.append((time.perf_counter() - began) * 1000)
                    else:
                        left += len(group.pids())
                        rounds_left += 1
            figures = "     -       -       -"
            if len(times) > 1:
                p99 = statistics.quantiles(times, n=100, method="inclusive")[98]
                middle = statistics.median(times)
                figures = f"{middle:7.1f} {p99:7.1f} {max(times):7.1f}"
            print(
                f"{form:10} {'+'.join(whom):18} {wanted.rounds:6}"
                f" {left:4}/{rounds_left:<3} {figures}",
                flush=True,
            )


if __name__ == "__main__":
    main()
