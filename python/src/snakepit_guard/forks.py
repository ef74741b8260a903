"""The workers of a guard, each from the request to start it until its pid is free."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable

from snakepit_guard.fork import HELD, HeldChild, fork_held
from snakepit_guard.frames import FrameError
from snakepit_guard.host_link import HostLink
from snakepit_guard.process_table import children_of
from snakepit_guard.reception import Reception
from snakepit_guard.requests import About, Start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from snakepit_guard.fork import Becoming

    # `awaited`: its descriptors are not all there. `forked`: not yet held. `held`: until
    # it is recorded. `let_go`: about to run. `running`. `ended`: its pid is kept.
    # `condemned`: nobody wants to hear of it any more.
    State = Literal[
        "awaited", "forked", "held", "let_go", "running", "ended", "condemned"
    ]


class _Worker:
    __slots__ = ("child", "start", "state")

    def __init__(self, start: Start) -> None:
        self.start = start
        self.state: State = "awaited"
        self.child: HeldChild | None = None


class Forks:
    """Starts workers, tells of their ends, and keeps their pids until the host has seen them.

    Until then the pid of a dead worker can belong to nobody else, and the host's
    signals to it go to nobody else.
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
        """Descriptors on which children tell how far they are."""
        return list(self._by_report)

    def label_of(self, pid: int) -> str | None:
        """What the host calls the worker with this pid."""
        worker = self._by_pid.get(pid)
        return None if worker is None else worker.start.label

    def start(self, start: Start) -> None:
        """Begins a worker; it is forked when its descriptors are there.

        Raises:
            FrameError: Its number is not greater than all before.
        """
        if start.id <= self._newest:
            raise FrameError(f"start {start.id} after {self._newest}")
        self._newest = start.id
        self._workers[start.id] = _Worker(start)
        self.arrived(start.id)

    def arrived(self, id: int) -> None:
        """A descriptor of a start is there."""
        worker = self._workers.get(id)
        if worker is None or worker.state != "awaited":
            if id <= self._newest:  # Too late; greater numbers are still to come.
                self._reception.drop(id)
            return
        connections = self._reception.take(id, worker.start.descriptors)
        if connections is not None:
            self._fork(worker, connections)

    def refused(self, id: int, error: OSError) -> None:
        """A descriptor of a start is not to be had."""
        worker = self._workers.get(id)
        if worker is not None and worker.state == "awaited":
            del self._workers[id]
            self._failed(id, error)

    def told(self, about: About) -> None:
        """The host says something of a worker; what comes too late is nothing."""
        worker = self._workers.get(about.id)
        if worker is None:
            return
        if about.what == "go" and worker.state == "held":
            assert worker.child is not None
            worker.state = "let_go"
            worker.child.let_go()
        elif about.what == "reap" and worker.state == "ended":
            self._free(worker)
        elif about.what == "discard":
            self._discard(worker)

    def reported(self, descriptor: int) -> None:
        """A child tells how far it is."""
        worker = self._by_report[descriptor]
        assert worker.child is not None
        said = os.read(descriptor, 16)
        if said == HELD and worker.state == "forked":
            worker.state = "held"
            self._link.send("held", id=worker.start.id, pid=worker.child.pid)
            return
        del self._by_report[descriptor]
        os.close(descriptor)
        if worker.state == "condemned":
            return
        if said:
            # Held or not: what it says then is the number of an error.
            number = int(said.removeprefix(HELD))
            self._failed(worker.start.id, OSError(number, os.strerror(number)))
            worker.state = "condemned"
        elif worker.state == "let_go":
            worker.state = "running"
            self._link.send("running", id=worker.start.id)

    def collect(self) -> None:
        """Tells of workers that ended, and reaps whatever else has."""
        for pid, worker in list(self._by_pid.items()):
            if worker.state != "ended":
                self._look_at(pid, worker)
        for pid in children_of(os.getpid()):
            if pid not in self._by_pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)

    def _look_at(self, pid: int, worker: _Worker) -> None:
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        end = os.waitid(os.P_PID, pid, flags)
        if end is None:
            return
        # What it said last comes before its end. Its pipe may be closed already, and
        # the number another's by now.
        assert worker.child is not None
        while self._by_report.get(worker.child.report) is worker:
            self.reported(worker.child.report)
        if worker.state == "condemned":
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
            worker.state = "condemned"
            # Its group, in case it runs; before that it leads one of its own.
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
