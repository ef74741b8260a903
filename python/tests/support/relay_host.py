"""The Ray actor, the gateway and the host of one relay, all in this process."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

from snakepit_bridge.cluster.certificates import Identity, own_identity, pinned_context
from snakepit_bridge.cluster.conversation import Pump
from snakepit_bridge.cluster.hosted_worker import bridge_command
from snakepit_bridge.cluster.json_lines import line
from support.conversation import DEADLINE_S
from support.framed_conversation import FramedConversation


class Wire:
    """A connection to the relay that carries messages."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self.connection = connection
        self._lines = connection.makefile("rb")

    def send(self, **message: Any) -> None:
        """Sends a message."""
        self.connection.sendall(line(**message))

    def wait_for(self, kind: str) -> Any:
        """Returns what the next message of a kind has; leaves out others."""
        while True:
            message = self.receive()
            if kind in message:
                return message[kind]

    def receive(self) -> dict[str, Any]:
        """Returns the next message; raises `EOFError` if there is none any more."""
        read = self._lines.readline()
        if not read:
            raise EOFError
        message: dict[str, Any] = json.loads(read)
        return message

    def close(self) -> None:
        """Closes it without TLS's farewell, as a process does that is killed."""
        self._lines.close()
        self.connection.close()


class RelayHost:
    """Starts `python -m snakepit_bridge relay`; a context manager.

    Attributes:
        keeper: The process that was started; the relay is its child.
        facts: Where the relay listens, and its certificate.
    """

    def __init__(
        self, tools: Path, identity: Identity | None = None, **setup: Any
    ) -> None:
        self._tools = tools
        self.identity = identity or own_identity("test")
        self._scratch = tempfile.TemporaryDirectory(prefix="snakepit-test-")
        self._open: list[Any] = []
        self.token = secrets.token_hex(32)
        self.keeper = subprocess.Popen(
            bridge_command("relay"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": self._scratch.name},
            start_new_session=True,
        )
        self.setup = {
            "address": "127.0.0.1",
            "certificate": self.identity.certificate,
            "tls": None,
            "keep_alive_ms": 10_000,
            "start_timeout_ms": 60_000,
            "sources": str(tools.parent),
            "directory": "",
            **setup,
        }
        assert self.keeper.stdin is not None and self.keeper.stdout is not None
        self.keeper.stdin.write(json.dumps(self.setup).encode() + b"\n")
        self.keeper.stdin.flush()
        self.facts = json.loads(self.keeper.stdout.readline())

    def __enter__(self) -> RelayHost:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def relay_pid(self) -> int:
        """The relay's process."""
        pid = self.keeper.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(children[0])

    @property
    def directories(self) -> list[str]:
        """The private directories that the keeper has made."""
        return os.listdir(self._scratch.name)

    def connect(self, identity: Identity | None = None) -> ssl.SSLSocket:
        """Connects as whoever has this certificate."""
        context = pinned_context(
            identity or self.identity, self.facts["certificate"], server=False
        )
        plain = self.connect_plainly()
        secured = context.wrap_socket(plain, suppress_ragged_eofs=False)
        self._open.append(secured)
        return secured

    def connect_plainly(self) -> socket.socket:
        """Connects without TLS."""
        plain = socket.create_connection(
            (self.facts["host"], self.facts["port"]), DEADLINE_S
        )
        self._open.append(plain)
        return plain

    def start(self, **payload: Any) -> Wire:
        """Starts the worker; returns the connection of the gateway, which is ready."""
        control = self.open_control()
        control.send(launch=self.launch(**payload))
        return control

    def open_control(self) -> Wire:
        """Opens the connections of the gateway."""
        control = Wire(self.connect())
        self._open.append(control)
        assert control.receive() == {"admitted": "control"}
        self.life = self.connect()
        assert control.receive() == {"admitted": "life"}
        return control

    def launch(self, **payload: Any) -> dict[str, Any]:
        """Returns a launch message."""
        return {
            "snakepit": 1,
            "runId": "test123",
            "workerId": "test-0",
            "incarnation": "test123-1",
            "lifeline": "/nowhere",
            "directory": "/nowhere",
            "token": self.token,
            "payload": {
                "protocol": {"min": 1, "max": 1},
                "tools": [{"file": self._tools.name}],
                "toolPath": [],
                **payload,
            },
        }

    def converse(self) -> FramedConversation:
        """Opens the conversation through the relay, as the host."""
        path = os.path.join(self._scratch.name, "c")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()
        self.data = remote = self.connect()

        def carry() -> None:
            local, _ = listener.accept()
            listener.close()
            with contextlib.suppress(OSError, ValueError):
                Pump(remote, local, lambda: None).run()
            local.close()
            remote.close()

        threading.Thread(target=carry, daemon=True).start()
        conversation = FramedConversation(path, self.token)
        self._open.append(conversation)
        return conversation

    def close(self) -> None:
        """Ends the relay, as the end of its actor does."""
        for each in reversed(self._open):
            each.close()
        assert self.keeper.stdin is not None
        self.keeper.stdin.close()
        # A test may have stopped it.
        self.keeper.send_signal(signal.SIGCONT)
        self.keeper.wait(DEADLINE_S)
        for stream in (self.keeper.stdout, self.keeper.stderr):
            if stream is not None:
                stream.close()
        self._scratch.cleanup()


def wait_until_gone(pids: list[int], within_s: float = DEADLINE_S) -> None:
    """Returns when these processes have ended; they may be children of others."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            try:
                ended = select.select([descriptor], [], [], within_s)[0]
                assert ended, f"process {pid} is still there after {within_s} s"
            finally:
                os.close(descriptor)
