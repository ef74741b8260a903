"""Starts the worker on its node and ties it to the relay, like a host on one machine; its
files there.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import sys
import tempfile
from typing import NamedTuple

from snakepit_bridge.boot.control_channel import DESCRIPTOR, encode_line

SHARED_MEMORY = "/dev/shm"
# Other programs need shared memory too: one value takes at most this much of what is
# free.
SHARE_OF_FREE = 0.5


class Directories(NamedTuple):
    """The private directories of one worker on its node.

    Attributes:
        private: Holds its sockets.
        shared: Holds its attachments, in shared memory; None where there is none.
    """

    private: str
    shared: str | None

    @classmethod
    def make(cls) -> Directories:
        """Makes them, 0700; raises `OSError` if there is no room for files at all."""
        # Short: it holds Unix sockets.
        private = tempfile.mkdtemp(prefix="snakepit-")
        try:
            return cls(private, tempfile.mkdtemp(prefix="snakepit-", dir=SHARED_MEMORY))
        except OSError:
            return cls(private, None)

    def room_for_one_value(self) -> int:
        """Returns how many bytes of a value can cross beside frames."""
        if self.shared is None:
            return 0
        facts = os.statvfs(self.shared)
        return int(facts.f_bavail * facts.f_frsize * SHARE_OF_FREE)

    def remove(self) -> None:
        """Removes them, as often as it is called."""
        for directory in filter(None, self):
            shutil.rmtree(directory, ignore_errors=True)


# The fields of the launch message that only make sense on the host's machine.
LOCAL_FIELDS = ("companion", "env", "callPage", "watch", "debug")
# Descriptors above those that the worker gets.
FREE_DESCRIPTOR = 50


def local_message(
    message: dict[str, object], directories: Directories, sources: str
) -> dict[str, object]:
    """Returns the launch message with the paths of this node.

    Args:
        message: The launch message, with the tools' paths relative to `sources`.
        directories: Of the worker.
        sources: Where the host's sources are on this node.
    """
    original = message["payload"]
    assert isinstance(original, dict)
    payload = {
        name: value for name, value in original.items() if name not in LOCAL_FIELDS
    }
    payload["transport"] = "framed"
    payload["socket"] = os.path.join(directories.private, "s")
    shared = payload.pop("sharedMemory", None)
    if shared is not None and directories.shared is not None:
        payload["sharedMemory"] = {**shared, "directory": directories.shared}
        payload["relayed"] = True
    payload["tools"] = [
        {**tools, "file": os.path.join(sources, tools["file"])}
        if "file" in tools
        else tools
        for tools in payload["tools"]
    ]
    payload["toolPath"] = [
        os.path.join(sources, path) for path in payload.get("toolPath", [])
    ]
    return {
        **message,
        "lifeline": os.path.join(directories.private, "l"),
        "directory": directories.private,
        "payload": payload,
    }


class HostedWorker:
    """A worker that this process started.

    Attributes:
        pid: Its process, which leads a group and session of its own.
        control: Its control channel, for reading the ready line.
        outputs: The read ends of its standard output and error.
    """

    def __init__(self, message: dict[str, object], env: dict[str, str | None]) -> None:
        """Starts it.

        Args:
            message: See `local_message`.
            env: Laid over the environment of this process; None removes a variable.

        Raises:
            OSError: it cannot be started.
        """
        self._lifeline = _listen(str(message["lifeline"]))
        self.socket_path = str(message["payload"]["socket"])  # type: ignore[index]
        self.control, theirs = socket.socketpair()
        self.outputs = {}
        null = os.open(os.devnull, os.O_RDONLY)
        channel = fcntl.fcntl(theirs, fcntl.F_DUPFD_CLOEXEC, FREE_DESCRIPTOR)
        actions: list[tuple[int, ...]] = [(os.POSIX_SPAWN_DUP2, null, 0)]
        ends = []
        for number, name in ((1, "stdout"), (2, "stderr")):
            self.outputs[name], write_end = os.pipe()
            ends.append(fcntl.fcntl(write_end, fcntl.F_DUPFD_CLOEXEC, FREE_DESCRIPTOR))
            os.close(write_end)
            actions.append((os.POSIX_SPAWN_DUP2, ends[-1], number))
        actions.append((os.POSIX_SPAWN_DUP2, channel, DESCRIPTOR))
        try:
            self.pid = os.posix_spawn(
                sys.executable,
                [*bridge_command("worker"), "--run-id", str(message["runId"])],
                _environment(env),
                file_actions=actions,
                setsid=True,
            )
        finally:
            for descriptor in (null, channel, *ends):
                os.close(descriptor)
            theirs.close()
        self.control.sendall(encode_line(message))

    def connect(self) -> socket.socket:
        """Returns a connection to the worker's socket."""
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.socket_path)
        return connection


def bridge_command(command: str) -> list[str]:
    """Returns how a program of the bridge is started with this Python."""
    switches = ["-P", "-u"] if sys.version_info >= (3, 11) else ["-u"]
    return [sys.executable, *switches, "-m", "snakepit_bridge", command]


def _environment(changes: dict[str, str | None]) -> dict[str, str]:
    merged: dict[str, str | None] = {**os.environ, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def _listen(path: str) -> socket.socket:
    """Returns the lifeline's listener: connections stay in its queue until this process
    dies.
    """
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    return listener
