"""The forked workers, from the request to start one until its pid is free."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable

from snakepit_bridge.forking.children import own_children
from snakepit_bridge.forking.fork import HELD, HeldChild, fork_held
from snakepit_bridge.forking.frames import FrameError
from snakepit_bridge.forking.host_link import HostLink
from snakepit_bridge.forking.reception import Reception
from snakepit_bridge.forking.requests import About, Start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from snakepit_bridge.forking.fork import Becoming

    # `awaited`: not all of its descriptors have arrived. `forked`: not yet held. `held`:
    # until it is recorded. `released`: about to run. `running`. `ended`: its pid is kept.
    # `discarded`: it is killed and not reported any more.
    State = Literal[
        "awaited", "forked", "held", "released", "running", "ended", "discarded"
    ]


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
