"""A host of the guard in this very process: closing its lifeline is its death."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from snakepit_bridge.forking.protocol import DESCRIPTORS, HEADER, FrameReader
from support.process_table import look

BESTIARY = Path(__file__).parent.parent / "guard" / "bestiary"
ROOT = Path(__file__).parents[3]
ARCHITECTURE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine())
# The committed binary, or another build of it: with sanitizers, for example.
PROGRAM = os.environ.get(
    "SNAKEPIT_TEST_NATIVE",
    str(ROOT / f"packages/native-linux-{ARCHITECTURE}/bin/snakepit-native"),
)
KINDS = {"start": 1, "go": 2, "discard": 3, "reap": 4, "end": 5}
# Generous: what is waited for is an event, and this only ends a test that fails.
DEADLINE_S = 20.0


def encode_request(type: str, **fields: Any) -> bytes:
    """Returns a request as a frame."""
    body = bytes([KINDS[type]])
    if type != "end":
        body += fields["id"].to_bytes(4, "big")
    if type == "start":
        args, env = fields["args"], fields["env"]
        bits = sum(1 << DESCRIPTORS[name] for name in fields["descriptors"])
        body += struct.pack(">BII", bits, len(args), len(env))
        strings = [fields["label"] or "", fields["executable"], fields["cwd"], *args]
        strings += [f"{name}={value}" for name, value in env.items()]
        body += b"".join(text.encode() + b"\0" for text in strings)
    return as_frame(body)


def as_frame(body: bytes) -> bytes:
    """Returns the body of a message as a frame."""
    return len(body).to_bytes(4, "big") + body


class Death:
    """The end of one process, child or not: an event, not a poll of pids."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._pidfd = os.pidfd_open(pid)

    def within(self, seconds: float = DEADLINE_S) -> bool:
        return bool(select.select([self._pidfd], [], [], seconds)[0])

    def happened(self) -> bool:
        return self.within(0)

    def signal(self, number: int) -> None:
        """Signals it, if it lives; never a stranger: the descriptor is of this very process."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, number)

    def kill(self) -> None:
        """Kills it, if it lives."""
        self.signal(signal.SIGKILL)

    def close(self) -> None:
        self.kill()
        os.close(self._pidfd)


class Worker:
    """A worker as the host sees it."""

    def __init__(self, id: int, sockets: dict[str, socket.socket]) -> None:
        self.id = id
        self.sockets = sockets
        self.pid = 0

    def read_line(self) -> str:
        """Reads one line of its standard output."""
        line = b""
        while not line.endswith(b"\n"):
            byte = self.sockets["stdout"].recv(1)
            if not byte:
                raise EOFError(line)
            line += byte
        return line.decode().strip()


class GuardHost:
    """Starts the guards of a run and speaks with the inner one."""

    def __init__(
        self, directory: Path, preexec: Callable[[], None] | None = None
    ) -> None:
        self.directory = directory
        self.socket = str(directory / "g")
        self.incidents = directory / "incidents.guard.jsonl"
        self.link, protocol = socket.socketpair()
        self.lifeline, lifeline = socket.socketpair()
        self.link.settimeout(DEADLINE_S)
        self.sent = 0
        self._reader = FrameReader()
        self._inbox: list[dict[str, Any]] = []
        self.deaths: list[Death] = []
        self.workers: list[Worker] = []
        # The descriptors have to be exactly 3 and 4; a shell puts them there.
        # Above 3 and 4, so that the shell does not close what it has just put there.
        p, q = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (protocol, lifeline))
        shell = f'exec "$@" 3<&{p} 4<&{q} {p}<&- {q}<&-'
        arguments = ["--socket", self.socket, "--incidents", str(self.incidents)]
        arguments += ["--run-id", "k3x9a2p"]
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", shell, "guard", PROGRAM, "guard", *arguments],
            pass_fds=[p, q],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=preexec,  # noqa: PLW1509
            env={**os.environ, "SNAKEPIT_RUN": "of another run"},
        )
        for end in (p, q):
            os.close(end)
        protocol.close()
        lifeline.close()
        self.outer = self.watch(self.process.pid)
        self.ready = self.expect("ready")
        self.inner = self.watch(self.ready["pid"])
        inner = look(self.inner.pid)
        assert inner is not None
        self.middle = self.watch(inner.parent)
        self.guards = (self.outer, self.middle, self.inner)

    def watch(self, pid: int) -> Death:
        death = Death(pid)
        self.deaths.append(death)
        return death

    def send(self, type: str, **fields: object) -> None:
        self.link.sendall(encode_request(type, **fields))

    def next(self) -> dict[str, Any]:
        """The next message of the guard."""
        while not self._inbox:
            data = self.link.recv(65_536)
            if not data:
                raise EOFError("the guard has nothing more to say")
            self._inbox += map(json.loads, self._reader.feed(data))
        return self._inbox.pop(0)

    def expect(self, type: str) -> dict[str, Any]:
        message = self.next()
        assert message["type"] == type, message
        return message

    def ask(
        self, args: list[str], descriptors: list[str] | None = None, **fields: object
    ) -> Worker:
        """Asks for a worker and connects its descriptors."""
        names = ["stdout", "stderr"] if descriptors is None else descriptors
        self.sent += 1
        request: dict[str, object] = {
            "executable": args[0],
            "args": args[1:],
            "env": {
                name: os.environ[name]
                # Beside the path: whose processes these are, should they be left behind.
                for name in ("PATH", "SNAKEPIT_TEST_RUN", "PYTEST_CURRENT_TEST")
                if name in os.environ
            },
            "cwd": str(self.directory),
            "label": f"w{self.sent}",
            "descriptors": names,
            **fields,
        }
        self.send("start", id=self.sent, **request)
        worker = Worker(
            self.sent, {name: self.connect(self.sent, name) for name in names}
        )
        self.workers.append(worker)
        return worker

    def connect(self, id: int, name: str) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(DEADLINE_S)
        connection.connect(self.socket)
        connection.sendall(HEADER.pack(id, DESCRIPTORS[name]))
        return connection

    def start(self, args: list[str], **fields: Any) -> Worker:
        """Starts a worker and lets it go."""
        worker = self.ask(args, **fields)
        held = self.expect("held")
        worker.pid = held["pid"]
        self.watch(worker.pid)
        self.send("go", id=worker.id)
        assert self.expect("running")["id"] == worker.id
        return worker

    def beast(self, habit: str, *args: str) -> tuple[Worker, list[Death]]:
        """Starts a program of the bestiary; returns it and the deaths of its processes.

        Its first line names the pids of all of them.
        """
        program = [sys.executable, str(BESTIARY / f"{habit}.py"), *args]
        worker = self.start(program)
        pids = [int(pid) for pid in worker.read_line().split()]
        return worker, [self.watch(pid) for pid in pids]

    def die(self) -> None:
        """What a guard sees of the host's death: everything it had is closed."""
        self.lifeline.close()
        self.link.close()

    def exit_status(self) -> int:
        return self.process.wait(DEADLINE_S)

    def close(self) -> None:
        self.die()
        for worker in self.workers:
            for connection in worker.sockets.values():
                connection.close()
        try:
            self.process.wait(DEADLINE_S)
        finally:
            for death in self.deaths:
                death.close()
            self.process.wait()
