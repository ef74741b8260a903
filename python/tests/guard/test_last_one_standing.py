"""Whichever process dies, alone or with another, no descendant of a worker survives."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.guard_host import Death, GuardHost
from support.process_table import look

Guard = Callable[[], GuardHost]

# As native/src/guard/guard.h has them.
HOST_GONE, INNER_LOST, MIDDLE_LOST = 64, 67, 68

GUARDS = ("outer", "middle", "inner")
ALIVE = ("host", *GUARDS, "worker")
# Who dies together.
DEATHS = [
    *((one,) for one in ALIVE),
    *((one, two) for one in ALIVE for two in ALIVE if one < two),
]


def incidents(host: GuardHost) -> list[dict[str, Any]]:
    """What the guards wrote down."""
    return [json.loads(line) for line in host.incidents.read_text().splitlines()]


def of_type(lines: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["type"] == f"protection.{name}"]


def strike(host: GuardHost, worker: Death, whom: str) -> None:
    """Kills one of them."""
    if whom == "host":
        host.die()
    else:
        death = worker if whom == "worker" else getattr(host, whom)
        death.kill()


@pytest.mark.parametrize("whom", DEATHS)
def test_the_whole_tree_dies_with(guard: Guard, whom: tuple[str, ...]) -> None:
    host = guard()
    _, deaths = host.beast("has_a_tree")
    assert not any(death.happened() for death in deaths)
    for one in whom:
        strike(host, deaths[0], one)
    if whom == ("worker",):
        # Its host is alive and decides what becomes of the others.
        assert host.expect("exited")["status"] == signal.SIGKILL
        assert not any(death.happened() for death in deaths[1:])
        host.die()
    assert all(death.within() for death in deaths)
    assert all(guard_.within() for guard_ in host.guards)


def test_a_worker_dies_with_all_guards(guard: Guard) -> None:
    host = guard()
    worker, deaths = host.beast("has_a_tree")
    for guard_ in host.guards:
        guard_.kill()
    assert deaths[0].pid == worker.pid
    assert deaths[0].within()


@pytest.mark.parametrize("whom", GUARDS)
def test_a_killer_that_is_killed_halfway_leaves_it_to_the_other(
    guard: Guard, whom: str
) -> None:
    chance = random.Random(7)
    for _ in range(8):
        host = guard()
        trees = [host.beast("has_a_tree")[1] for _ in range(3)]
        host.die()
        wait = time.monotonic() + chance.uniform(0, 0.004)
        while time.monotonic() < wait:
            pass
        killer: Death = getattr(host, whom)
        killer.kill()
        assert all(death.within() for tree in trees for death in tree)
        assert all(guard_.within() for guard_ in host.guards)


@pytest.mark.parametrize("how", ["stays", "leaves"])
@pytest.mark.parametrize("whom", ["host", *GUARDS])
def test_a_process_that_forks_endlessly_is_killed(
    guard: Guard, how: str, whom: str
) -> None:
    host = guard()
    host.beast("forks_without_end", how)
    strike(host, host.outer, whom)
    # Each guard exits only when the kernel reports that it has no child any more.
    assert all(guard_.within() for guard_ in host.guards)


@pytest.mark.parametrize("whom", ["host", *GUARDS])
def test_a_process_whose_first_thread_has_ended_is_killed(
    guard: Guard, whom: str
) -> None:
    host = guard()
    _, deaths = host.beast("ends_its_first_thread")
    strike(host, host.outer, whom)
    assert all(death.within() for death in deaths)
    assert all(guard_.within() for guard_ in host.guards)


@pytest.mark.parametrize("habit", ["has_a_tree", "ends_its_first_thread"])
def test_guards_that_are_all_stopped_continue_when_the_host_dies(
    guard: Guard, habit: str
) -> None:
    host = guard()
    _, deaths = host.beast(habit)
    for guard_ in host.guards:
        guard_.signal(signal.SIGSTOP)
    host.die()
    assert all(death.within() for death in deaths)
    assert host.exit_status() == HOST_GONE
    assert all(guard_.within() for guard_ in host.guards)


@pytest.mark.parametrize("stopped", ["running", "stopped"])
def test_a_copy_of_the_host_that_holds_its_sockets_does_not_delay_the_end(
    tmp_path: Path, stopped: str
) -> None:
    told, tell = os.pipe()
    go, let_go = os.pipe()
    host = os.fork()
    if host == 0:
        # Forked, as its copy is: nothing here may return into the tests.
        with contextlib.suppress(BaseException):
            be_a_host_with_a_copy(tmp_path, tell, go)
        os._exit(1)
    os.close(tell)
    pids = [int(word) for word in os.read(told, 1000).split()]
    deaths = [Death(pid) for pid in pids]
    *others, copy = deaths
    try:
        if stopped == "stopped":
            for death in others[:3]:
                death.signal(signal.SIGSTOP)
        assert not any(death.happened() for death in deaths)
        os.write(let_go, b"!")
        os.waitpid(host, 0)
        assert all(death.within() for death in others)
        assert not copy.happened()
    finally:
        for death in reversed(deaths):
            death.close()
        for end in (told, go, let_go):
            os.close(end)


def be_a_host_with_a_copy(directory: Path, tell: int, go: int) -> None:
    host = GuardHost(directory)
    _, deaths = host.beast("has_a_tree")
    copy = os.fork()
    if copy == 0:
        while True:
            signal.pause()
    pids = [death.pid for death in (*host.guards, *deaths)]
    os.write(tell, " ".join(map(str, [*pids, copy])).encode())
    os.read(go, 1)
    os.kill(os.getpid(), signal.SIGKILL)


def test_no_pipe_in_the_place_of_the_record_delays_the_end(guard: Guard) -> None:
    host = guard()
    _, deaths = host.beast("has_a_tree")
    os.mkfifo(host.incidents)
    host.die()
    assert all(death.within() for death in deaths)
    assert host.exit_status() == HOST_GONE
    assert all(guard_.within() for guard_ in host.guards)


def test_a_stopped_worker_and_a_stopped_guard_do_not_hold_up_the_end(
    guard: Guard,
) -> None:
    host = guard()
    _, deaths = host.beast("has_a_tree")
    for death in (deaths[0], host.inner):
        os.kill(death.pid, signal.SIGSTOP)
    host.die()
    assert all(death.within() for death in deaths)
    assert host.exit_status() == HOST_GONE
    assert host.inner.within()
    # The guard that was stopped had to be killed too, and is no process of the run.
    killed = {line["pid"] for line in of_type(incidents(host), "process_killed")}
    assert killed == {death.pid for death in deaths}


def test_the_middle_guard_does_not_wait_for_an_inner_one_that_is_stopped(
    guard: Guard,
) -> None:
    host = guard()
    _, deaths = host.beast("has_a_tree")
    os.kill(host.inner.pid, signal.SIGSTOP)
    host.outer.kill()
    assert all(death.within() for death in deaths)
    assert all(guard_.within() for guard_ in host.guards)


def test_a_worker_that_is_held_dies_with_its_host(guard: Guard) -> None:
    host = guard()
    host.ask(["touch", str(host.directory / "trace")])
    death = host.watch(host.expect("held")["pid"])
    host.die()
    assert death.within()
    assert host.exit_status() == HOST_GONE
    assert not (host.directory / "trace").exists()


def test_signals_to_a_terminal_do_not_reach_the_guards(guard: Guard) -> None:
    host = guard()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        os.killpg(host.outer.pid, number)
    assert host.start(["echo", "here"]).read_line() == "here"


def test_a_guard_holds_nothing_of_its_host(guard: Guard) -> None:
    host = guard()
    for death in host.guards:
        proc = Path(f"/proc/{death.pid}")
        assert os.readlink(proc / "cwd") == "/"
        standard = {os.readlink(proc / "fd" / name) for name in ("0", "1")}
        assert standard == {"/dev/null"}
        seen = look(death.pid)
        assert seen is not None and seen.session == host.outer.pid


def test_a_guard_without_a_host_writes_down_what_it_killed(guard: Guard) -> None:
    host = guard()
    _, deaths = host.beast("has_a_tree")
    host.die()
    assert host.exit_status() == HOST_GONE
    lines = incidents(host)
    # A guard further out that had to wait long has helped, and reports that too.
    assert {line["type"] for line in lines} == {
        "protection.host_death_detected",
        "protection.process_killed",
        "protection.run_settled",
    }
    assert {line["protection"] for line in lines} == {"guard"}
    assert {line["ofRun"] for line in lines} == {"k3x9a2p"}
    dead = of_type(lines, "host_death_detected")
    assert host.inner.pid in {line["pid"] for line in dead}
    killed = of_type(lines, "process_killed")
    assert {line["signal"] for line in killed} == {"SIGKILL"}
    # The worker is found through the parent, which a daemon has lost.
    assert {line["pid"] for line in killed if line.get("incarnation") == "w1"} == {
        deaths[0].pid,
        deaths[1].pid,
    }
    assert {line["pid"] for line in killed} == {death.pid for death in deaths}
    for line in killed:
        assert line["startTime"].isdigit()
    # A descendant of the worker names it, with its start time.
    worker = next(line for line in killed if line["pid"] == deaths[0].pid)
    child = next(line for line in killed if line["pid"] == deaths[1].pid)
    assert "below" not in worker
    assert child["below"] == [{"pid": worker["pid"], "startTime": worker["startTime"]}]
    for line in of_type(lines, "run_settled"):
        assert 0 <= line["killed"] <= 3
        assert 0 < line["durationMs"] < 20_000
    assert stat.S_IMODE(host.incidents.stat().st_mode) == 0o600


@pytest.mark.parametrize("whom", GUARDS)
def test_incidents_are_written_although_one_guard_is_lost_with_the_host(
    guard: Guard, whom: str
) -> None:
    host = guard()
    _, deaths = host.beast("has_a_tree")
    # First the guard is stopped: so it is lost with the host, and not before.
    lost: Death = getattr(host, whom)
    lost.signal(signal.SIGSTOP)
    host.die()
    lost.kill()
    assert all(guard_.within() for guard_ in host.guards)
    assert all(death.within() for death in deaths)
    lines = incidents(host)
    assert lines[0]["type"] == "protection.host_death_detected"
    assert lines[-1]["type"] == "protection.run_settled"
    assert lines[0]["pid"] in {guard_.pid for guard_ in host.guards}
    killed = {line["pid"] for line in of_type(lines, "process_killed")}
    tree = {death.pid for death in deaths}
    # No guard is among them.
    assert killed <= tree
    if whom == "inner":
        # The kernel ends a worker that loses its parent, and a group dies at once with
        # members that were not seen while they changed parents.
        assert deaths[2].pid in killed
    else:
        # By one guard, or by two that worked side by side.
        assert killed == tree


@pytest.mark.parametrize(
    ("whom", "status"), [("inner", INNER_LOST), ("middle", MIDDLE_LOST)]
)
def test_the_exit_status_reports_which_guard_was_lost(
    guard: Guard, whom: str, status: int
) -> None:
    host = guard()
    lost: Death = getattr(host, whom)
    lost.kill()
    assert host.exit_status() == status
    assert not host.incidents.exists()
