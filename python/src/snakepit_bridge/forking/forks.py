"""The forked workers: each is held until the host has recorded it, and followed until its
pid is free.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
from collections.abc import Callable, Mapping

from snakepit_bridge.forking.protocol import (
    About,
    FrameError,
    HostLink,
    Reception,
    Start,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, NoReturn, Protocol

    class Becoming(Protocol):
        """The part that runs in the child."""

        def prepare(self) -> None:
            """Runs before it is held: a failure here leaves nothing to undo."""

        def begin(self, reported: int) -> None:
            """Runs when it is released; closes `reported` once it runs, as an exec does."""

    # `awaited`: not all of its descriptors have arrived. `forked`: not yet held. `held`:
    # until it is recorded. `released`: about to run. `running`. `ended`: its pid is kept.
    # `discarded`: it is killed and not reported any more.
    State = Literal[
        "awaited", "forked", "held", "released", "running", "ended", "discarded"
    ]


_PR_SET_PDEATHSIG = 1

# Loaded before any fork, so that a held child need not load libraries.
_prctl = ctypes.CDLL(None, use_errno=True).prctl


def die_with_parent(parent: int) -> None:
    """Kills this process when the parent that forked it dies; exits if it is dead.

    The setting survives an exec, but not a fork.

    Raises:
        OSError: The kernel or a system call filter refuses.
    """
    _call(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    # It may have died before this was armed. Compared with its pid: under another
    # subreaper, or in a container, the new parent need not be process 1.
    if os.getppid() != parent:
        os._exit(1)


def outlive_parent() -> None:
    """Undoes `die_with_parent`: something else ends this process, and its group.

    Raises:
        OSError: The kernel or a system call filter refuses.
    """
    _call(_PR_SET_PDEATHSIG, 0)


def _call(option: int, argument: int) -> None:
    zero = ctypes.c_ulong(0)
    if _prctl(ctypes.c_int(option), ctypes.c_ulong(argument), zero, zero, zero) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")


def own_children() -> list[int]:
    """Returns the pids of the children of this process, including zombies."""
    children: list[int] = []
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/children", "rb", 0) as file:
                children += map(int, file.read().split())
        except FileNotFoundError:
            if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
                return _children_by_scan()
    return children


def _children_by_scan() -> list[int]:
    """Searches all of /proc: a kernel without CONFIG_PROC_CHILDREN does not list them."""
    return [
        int(name)
        for name in os.listdir("/proc")
        if name.isdigit() and _parent_of(name) == os.getpid()
    ]


def _parent_of(pid: str) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb", 0) as file:
            text = file.read()
    except OSError:
        return None
    # After the name, which may contain anything, and the state.
    return int(text[text.rfind(b")") + 2 :].split()[1])


HELD = b"h"
_GO = b"g"
# The exit status of a child that was never released; it is not reported.
_NOT_WANTED = 125


class HeldChild:
    """A child between its fork and its release, as its parent sees it.

    Attributes:
        pid: Belongs to this child until it is reaped.
        report: A pipe to read: `HELD`, then its end when the child runs, or the number
            of the error that prevented it, in ASCII.
    """

    __slots__ = ("_go", "pid", "report")

    def __init__(self, pid: int, report: int, go: int) -> None:
        self.pid = pid
        self.report = report
        self._go: int | None = go

    def release(self) -> None:
        """Lets the child go on."""
        if self._go is None:
            return
        try:
            os.write(self._go, _GO)
        except BrokenPipeError:
            pass  # It was killed while it was held; its end is reported.
        self.close()

    def close(self) -> None:
        """Closes the pipe to it; if it is still held, it exits."""
        if self._go is not None:
            os.close(self._go)
            self._go = None


def fork_held(
    becoming: Becoming,
    descriptors: Mapping[int, int],
    in_child: Callable[[], None],
    kept: frozenset[int] = frozenset(),
) -> HeldChild:
    """Forks a child that leads its own session and has only these descriptors.

    The child dies with this process, from its first instruction on.

    Args:
        becoming: What the child becomes.
        descriptors: The child's numbers from 0 to 3, and the descriptors of this
            process that become them. Those are all above 3.
        in_child: Undoes what the child must not inherit.
        kept: Descriptors that the child keeps under the same numbers.

    Raises:
        OSError: There are no processes or descriptors left.
    """
    report, reported = os.pipe2(os.O_CLOEXEC)
    try:
        gate, go = os.pipe2(os.O_CLOEXEC)
    except OSError:
        os.close(report)
        os.close(reported)
        raise
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        for descriptor in (report, reported, gate, go):
            os.close(descriptor)
        raise
    if pid == 0:
        _be_child(becoming, descriptors, in_child, kept, parent, reported, gate)
    os.close(reported)
    os.close(gate)
    return HeldChild(pid, report, go)


def _be_child(
    becoming: Becoming,
    descriptors: Mapping[int, int],
    in_child: Callable[[], None],
    kept: frozenset[int],
    parent: int,
    reported: int,
    gate: int,
) -> NoReturn:
    try:
        die_with_parent(parent)
        os.setsid()
        in_child()
        for number, descriptor in descriptors.items():
            os.dup2(descriptor, number)
        _close_all_but({*descriptors, *kept, reported, gate})
        becoming.prepare()
        os.write(reported, HELD)
        if os.read(gate, 1) != _GO:
            os._exit(_NOT_WANTED)
        os.close(gate)
        becoming.begin(reported)
    except OSError as error:
        os.write(reported, str(error.errno).encode())
    finally:
        # In any case this child must not become a second parent.
        os._exit(_NOT_WANTED)


def _close_all_but(kept: set[int]) -> None:
    low = 0
    for descriptor in sorted(kept):
        if low < descriptor:  # CPython closes everything for the range from 0 to 0.
            os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))


class _Worker:
    __slots__ = ("child", "start", "state")

    def __init__(self, start: Start) -> None:
        self.start = start
        self.state: State = "awaited"
        self.child: HeldChild | None = None


class Forks:
    """Starts workers, reports their ends, and keeps their pids until the host has seen them.

    Until then the pid of a dead worker cannot belong to another process, so the host's
    signals reach no other process.
    """

    def __init__(
        self,
        link: HostLink,
        reception: Reception,
        becoming: Callable[[Start], Becoming],
        in_child: Callable[[], None],
        kept: frozenset[int] = frozenset(),
    ) -> None:
        self._link = link
        self._reception = reception
        self._becoming = becoming
        self._in_child = in_child
        self._kept = kept
        self._newest = -1
        self._workers: dict[int, _Worker] = {}
        self._by_report: dict[int, _Worker] = {}
        self._by_pid: dict[int, _Worker] = {}

    @property
    def reports(self) -> list[int]:
        """Descriptors on which children report their progress."""
        return list(self._by_report)

    def start(self, start: Start) -> None:
        """Starts a worker; it is forked once its descriptors have arrived.

        Raises:
            FrameError: Its number is not greater than all earlier ones.
        """
        if start.id <= self._newest:
            raise FrameError(f"start {start.id} after {self._newest}")
        self._newest = start.id
        self._workers[start.id] = _Worker(start)
        self.arrived(start.id)

    def arrived(self, id: int) -> None:
        """A descriptor of a start has arrived."""
        worker = self._workers.get(id)
        if worker is None or worker.state != "awaited":
            if id <= self._newest:  # Too late. Greater numbers may still come.
                self._reception.drop(id)
            return
        connections = self._reception.take(id, worker.start.descriptors)
        if connections is not None:
            self._fork(worker, connections)

    def refused(self, id: int, error: OSError) -> None:
        """A descriptor of a start could not be kept."""
        worker = self._workers.get(id)
        if worker is not None and worker.state == "awaited":
            del self._workers[id]
            self._failed(id, error)

    def handle(self, about: About) -> None:
        """Handles a request about a worker; ignores one that comes too late."""
        worker = self._workers.get(about.id)
        if worker is None:
            return
        if about.what == "go" and worker.state == "held":
            assert worker.child is not None
            worker.state = "released"
            worker.child.release()
        elif about.what == "reap" and worker.state == "ended":
            self._free(worker)
        elif about.what == "discard":
            self._discard(worker)

    def reported(self, descriptor: int) -> None:
        """Reads a child's report."""
        worker = self._by_report[descriptor]
        assert worker.child is not None
        report = os.read(descriptor, 16)
        if report == HELD and worker.state == "forked":
            worker.state = "held"
            self._link.send("held", id=worker.start.id, pid=worker.child.pid)
            return
        del self._by_report[descriptor]
        os.close(descriptor)
        if worker.state == "discarded":
            return
        if report:
            # Whether it was held or not, the rest is the number of an error.
            number = int(report.removeprefix(HELD))
            self._failed(worker.start.id, OSError(number, os.strerror(number)))
            worker.state = "discarded"
        elif worker.state == "released":
            worker.state = "running"
            self._link.send("running", id=worker.start.id)

    def collect(self) -> None:
        """Reports workers that ended, and reaps all other children that ended."""
        for pid, worker in list(self._by_pid.items()):
            if worker.state != "ended":
                self._look_at(pid, worker)
        for pid in own_children():
            if pid not in self._by_pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)

    def _look_at(self, pid: int, worker: _Worker) -> None:
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        end = os.waitid(os.P_PID, pid, flags)
        if end is None:
            return
        # Its last report comes before its end. Its pipe may be closed already, and the
        # descriptor's number reused.
        assert worker.child is not None
        while self._by_report.get(worker.child.report) is worker:
            self.reported(worker.child.report)
        if worker.state == "discarded":
            self._free(worker)
        elif worker.state in ("forked", "held"):
            self._failed(worker.start.id, OSError(0, "killed before it ran"))
            self._free(worker)
        else:
            worker.state = "ended"
            how = "code" if end.si_code == os.CLD_EXITED else "signal"
            self._link.send("exited", id=worker.start.id, how=how, status=end.si_status)

    def _fork(self, worker: _Worker, connections: dict[int, socket.socket]) -> None:
        descriptors = {0: 0} | {
            number: connection.fileno() for number, connection in connections.items()
        }
        try:
            becoming = self._becoming(worker.start)
            child = fork_held(becoming, descriptors, self._in_child, self._kept)
        except OSError as error:
            del self._workers[worker.start.id]
            self._failed(worker.start.id, error)
            return
        finally:
            for connection in connections.values():
                connection.close()
        worker.child = child
        worker.state = "forked"
        self._by_report[child.report] = worker
        self._by_pid[child.pid] = worker

    def _discard(self, worker: _Worker) -> None:
        self._reception.drop(worker.start.id)
        if worker.child is None:
            del self._workers[worker.start.id]
        elif worker.state == "ended":
            self._free(worker)
        else:
            worker.state = "discarded"
            # Its group as well, in case it runs and has children.
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError):
                    kill(worker.child.pid, signal.SIGKILL)

    def _failed(self, id: int, error: OSError) -> None:
        self._reception.drop(id)
        self._link.send(
            "failed", id=id, errno=error.errno or 0, message=str(error.strerror)
        )

    def _free(self, worker: _Worker) -> None:
        assert worker.child is not None
        worker.child.close()
        os.waitpid(worker.child.pid, 0)
        del self._by_pid[worker.child.pid]
        del self._workers[worker.start.id]
