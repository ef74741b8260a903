"""A host that starts one worker and talks to it, in this process."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import signal
import socket
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from support.conversation import Conversation
from support.framed_conversation import FramedConversation, FramedSocket

# Deadlines are for what goes wrong; nothing waits for them otherwise.
DEADLINE_S = 30.0


class FakeHost:
    """Starts `python -m snakepit_bridge worker`; a context manager.

    Attributes:
        ready: what the worker said on the control channel, once `start` is over.
    """

    def __init__(self, tools: Path | str, **payload: Any) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="snakepit-test-"))
        self.token = secrets.token_hex(32)
        self.run_id = "test123"
        self.lifeline_path = str(self.directory / "l")
        self.socket_path = str(self.directory / "s")
        self.lifeline = socket.socket(socket.AF_UNIX)
        self.lifeline.bind(self.lifeline_path)
        self.lifeline.listen(64)
        self.ready: dict[str, Any] = {}
        self.pid = 0
        self.interpreter = sys.executable
        self.program = ["-u", "-m", "snakepit_bridge"]
        self.command = "worker"
        self.environment = dict(os.environ)
        is_file = isinstance(tools, Path)
        self.message: dict[str, Any] = {
            "snakepit": 1,
            "runId": self.run_id,
            "workerId": "test-0",
            "incarnation": f"{self.run_id}-1",
            "lifeline": self.lifeline_path,
            "directory": str(self.directory),
            "token": self.token,
            "payload": {
                "protocol": {"min": 1, "max": 1},
                "hostPackage": "fake-host 1.2.3",
                "socket": self.socket_path,
                "tools": [{"file" if is_file else "module": str(tools)}],
                "toolPath": [],
                "callsPerWorker": 1,
                "maxMessageBytes": 64 << 20,
                "startTimeoutMs": 30000,
                # It sends no pings.
                "silenceWarnMs": 0,
                "logLevel": 20,
                **payload,
            },
        }
        self._outputs: dict[str, _Output] = {}
        self._conversations: list[Conversation] = []
        self._strangers: list[FramedSocket] = []
        self._status: int | None = None
        self._ended = threading.Event()

    def __enter__(self) -> FakeHost:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def spawn(self) -> None:
        """Starts the process and gives it the launch message."""
        ours, theirs = socket.socketpair()
        # Descriptors above those that the child is given.
        channel = fcntl.fcntl(theirs, fcntl.F_DUPFD_CLOEXEC, 50)
        null = os.open(os.devnull, os.O_RDONLY)
        actions: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_DUP2, null, 0)]
        for number, name in ((1, "stdout"), (2, "stderr")):
            self._outputs[name] = _Output()
            actions.append((os.POSIX_SPAWN_DUP2, self._outputs[name].write_end, number))
        actions.append((os.POSIX_SPAWN_DUP2, channel, 3))
        self.pid = os.posix_spawn(
            self.interpreter,
            [
                self.interpreter,
                *self.program,
                self.command,
                "--run-id",
                self.run_id,
            ],
            self.environment,
            file_actions=actions,
            setsid=True,
        )
        threading.Thread(target=self._reap, daemon=True).start()
        for output in self._outputs.values():
            output.start()
        for descriptor in (channel, null):
            os.close(descriptor)
        theirs.close()
        self.channel = ours
        self.channel.settimeout(DEADLINE_S)

    def launch(self) -> None:
        """Gives the worker its launch message."""
        self.channel.sendall(json.dumps(self.message).encode() + b"\n")

    def answer(self) -> dict[str, Any]:
        """Returns the line on the control channel; {} if it ended without."""
        line = b""
        while not line.endswith(b"\n"):
            data = self.channel.recv(65536)
            if not data:
                return {}
            line += data
        answer: dict[str, Any] = json.loads(line)
        return answer

    def start(self) -> FakeHost:
        """Starts the worker and waits until it is ready."""
        self.spawn()
        self.launch()
        answer = self.answer()
        if "ready" not in answer:
            raise AssertionError(f"not ready: {answer}\n{self.stderr()}")
        self.ready = answer["ready"]
        return self

    def failed(self) -> dict[str, str]:
        """Starts a worker that fails to start; returns its report once it has exited with 70."""
        self.spawn()
        self.launch()
        failure: dict[str, str] = self.answer()["failed"]
        assert self.exit_status() == 70
        return failure

    def converse(self) -> Conversation:
        """Opens the conversation."""
        framed = self.message["payload"].get("transport") == "framed"
        kind = FramedConversation if framed else Conversation
        conversation = kind(self.socket_path, self.token)
        self._conversations.append(conversation)
        return conversation

    def connect(self) -> FramedSocket:
        """Connects to the worker's socket without a token, and sends nothing."""
        connection = FramedSocket(self.socket_path)
        self._strangers.append(connection)
        return connection

    def signal(self, number: int) -> None:
        """Sends a signal to the worker."""
        if self._status is None:
            os.kill(self.pid, number)

    def exit_status(self, timeout: float = DEADLINE_S) -> int:
        """Returns the exit status once the worker has ended; -n for signal n."""
        if not self._ended.wait(timeout):
            raise AssertionError(f"it still runs\n{self.stderr()}")
        assert self._status is not None
        return self._status

    def _reap(self) -> None:
        _, status = os.waitpid(self.pid, 0)
        self._status = os.waitstatus_to_exitcode(status)
        self._ended.set()

    def stdout(self) -> str:
        """Returns what the worker wrote to stdout so far."""
        return self._text("stdout")

    def stderr(self) -> str:
        """Returns what the worker wrote to stderr so far."""
        return self._text("stderr")

    def _text(self, name: str) -> str:
        if self._status is not None:
            self._outputs[name].join()
        return self._outputs[name].text()

    def wait_for_stdout(self, text: str) -> None:
        """Waits until the worker has written it."""
        self._outputs["stdout"].wait_for(text)

    def wait_for_stderr(self, text: str, times: int = 1) -> None:
        """Waits until the worker has written it, so many times."""
        self._outputs["stderr"].wait_for(text, times)

    def close(self) -> None:
        """Ends the worker, whatever it does."""
        for conversation in self._conversations:
            conversation.close()
        for connection in self._strangers:
            connection.close()
        if self.pid and self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self.exit_status()
        if self.pid:
            self.channel.close()
        for output in self._outputs.values():
            output.close()
        self.lifeline.close()
        for name in ("l", "s"):
            (self.directory / name).unlink(missing_ok=True)
        self.directory.rmdir()


class SharedHost(FakeHost):
    """A host of several tests, which have one conversation with its worker."""

    def converse(self) -> Conversation:
        """Opens the conversation, or returns it."""
        return self._conversations[0] if self._conversations else super().converse()


class _Output:
    """What a worker writes, read by a thread."""

    def __init__(self) -> None:
        self._read_end, self.write_end = os.pipe()
        self._changed = threading.Condition()
        self._data = b""
        self._thread = threading.Thread(target=self._read, daemon=True)

    def start(self) -> None:
        os.close(self.write_end)
        self._thread.start()

    def text(self) -> str:
        return self._data.decode(errors="replace")

    def wait_for(self, text: str, times: int = 1) -> None:
        def is_there() -> bool:
            return self.text().count(text) >= times

        with self._changed:
            found = self._changed.wait_for(is_there, DEADLINE_S)
        if not found:
            raise AssertionError(f"not written: {text!r}\n{self.text()}")

    def join(self) -> None:
        """Waits until everything is read."""
        self._thread.join(DEADLINE_S)

    def close(self) -> None:
        self.join()
        os.close(self._read_end)

    def _read(self) -> None:
        while data := os.read(self._read_end, 65536):
            with self._changed:
                self._data += data
                self._changed.notify_all()
