"""A guard of many workers, and one that runs out of descriptors."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Callable

import pytest
from support.guard_host import GuardHost

Guard = Callable[[], GuardHost]


def test_a_hundred_starts_at_once_are_a_hundred_workers(guard: Guard) -> None:
    host = guard()
    workers = [host.ask(["sleep", "1000"], descriptors=[]) for _ in range(100)]
    pids = {host.expect("held")["pid"] for _ in workers}
    assert len(pids) == 100
    for worker in workers:
        host.send("go", id=worker.id)
    for _ in workers:
        host.expect("running")
    deaths = [host.watch(pid) for pid in pids]
    host.die()
    assert all(death.within() for death in deaths)


def test_a_guard_without_descriptors_reports_it_and_goes_on(guard: Guard) -> None:
    host = guard()
    is_open = len(os.listdir(f"/proc/{host.inner.pid}/fd"))
    before = resource.prlimit(host.inner.pid, resource.RLIMIT_NOFILE)
    for room in (0, 1, 2, 3):
        limits = (is_open + room, before[1])
        resource.prlimit(host.inner.pid, resource.RLIMIT_NOFILE, limits)
        worker = host.ask(["true"])
        failed = host.expect("failed")
        assert (failed["id"], failed["errno"]) == (worker.id, errno.EMFILE)
    resource.prlimit(host.inner.pid, resource.RLIMIT_NOFILE, before)
    assert host.start(["echo", "here"]).read_line() == "here"
    assert host.expect("exited")["status"] == 0
    host.send("reap", id=host.workers[-1].id)
    # Connections that came too late for their start are closed as well.
    while len(os.listdir(f"/proc/{host.inner.pid}/fd")) != is_open:
        host.ask(["/nowhere"])
        host.expect("failed")


def test_a_guard_without_descriptors_still_kills(guard: Guard) -> None:
    host = guard()
    _, deaths = host.beast("has_a_tree")
    is_open = len(os.listdir(f"/proc/{host.inner.pid}/fd"))
    before = resource.prlimit(host.inner.pid, resource.RLIMIT_NOFILE)
    limits = (is_open, before[1])
    resource.prlimit(host.inner.pid, resource.RLIMIT_NOFILE, limits)
    host.send("end")
    assert host.expect("ended")["killed"] == 3
    assert all(death.within() for death in deaths)


@pytest.mark.parametrize("way", ["host", "end"])
def test_guards_that_may_open_nothing_still_kill(guard: Guard, way: str) -> None:
    host = guard()
    _, deaths = host.beast("has_a_tree")
    for death in host.guards:
        _, most = resource.prlimit(death.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(death.pid, resource.RLIMIT_NOFILE, (0, most))
    if way == "host":
        host.die()
    else:
        host.send("end")
        # Beside each it kills the group, whose other members it cannot see.
        ended = host.expect("ended")
        assert 2 <= ended["killed"] <= 3
        assert ended["left"] == 0
    assert all(death.within() for death in deaths)
    assert all(guard_.within() for guard_ in host.guards)
