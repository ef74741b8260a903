"""The stand-in: the local process of one worker that runs on a node.

The host sees it as the worker: it is ready, writes and ends as the worker does. The
standard library and `boot` is all it imports.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys

from snakepit_bridge.boot import exit_status
from snakepit_bridge.boot.control_channel import (
    ControlChannel,
    StartFailed,
    encode_line,
)
from snakepit_bridge.boot.first_steps import read_launch, run_started
from snakepit_bridge.boot.launch_message import Launch
from snakepit_bridge.boot.lifeline import Lifeline
from snakepit_bridge.cluster.json_lines import LineInvalid, LineReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# The host reads the resource use of the worker from it, line by line.
USAGE_DESCRIPTOR = 4
READ_BYTES = 64 << 10
STREAMS = {"stdout": 1, "stderr": 2}
# Of a failure.
WORDS = ("code", "message", "detail")
FORWARDED = (signal.SIGTERM, signal.SIGQUIT, signal.SIGUSR1)
LOST = "snakepit: the gateway of the cluster is gone, so this worker ends\n"


def run_stand_in(arguments: list[str]) -> int:
    """Runs a stand-in; returns the exit status of the worker, unless a signal ended that."""
    has_usage = _is_open(USAGE_DESCRIPTOR)

    def run(channel: ControlChannel, _run_id: str) -> int:
        return _run(channel, has_usage)

    return run_started("stand-in", "A stand-in", arguments, run)


def _run(channel: ControlChannel, has_usage: bool) -> int:
    launch = read_launch(channel, _KeptLaunch)
    Lifeline(launch.lifeline)
    signal.signal(signal.SIGINT, _nothing)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(exit_status.LEFT))
    gateway = socket.socket(socket.AF_UNIX)
    try:
        gateway.connect(launch.gateway_socket)
    except OSError:
        return _lost()
    return _StandIn(channel, gateway, has_usage).run(launch.message)


class _KeptLaunch(Launch):
    """The launch message, which the relay reads in full."""

    def __init__(self, message: dict[str, object]) -> None:
        super().__init__(message)
        self.message = message

    @property
    def gateway_socket(self) -> str:
        """Where the gateway listens.

        Raises:
            StartFailed: the message does not say.
        """
        payload = self.message.get("payload")
        companion = payload.get("companion") if isinstance(payload, dict) else None
        path = companion.get("socket") if isinstance(companion, dict) else None
        if not isinstance(path, str):
            raise StartFailed("LAUNCH_INVALID", "payload.companion has no socket")
        return path


class _StandIn:
    def __init__(
        self, channel: ControlChannel, gateway: socket.socket, has_usage: bool
    ) -> None:
        self._has_usage = has_usage
        self._channel = channel
        self._gateway = gateway

    def run(self, launch: dict[str, object]) -> int:
        """Passes on the gateway's messages until the worker has ended."""
        reader = LineReader()
        try:
            self._gateway.sendall(encode_line(launch))
            while data := self._gateway.recv(READ_BYTES):
                for message in reader.feed(data):
                    self._take(message)
        except ConnectionError:
            pass
        except LineInvalid as error:
            sys.stderr.write(
                f"snakepit: the gateway sent an invalid message: {error}\n"
            )
        return _lost()

    def _take(self, message: dict[str, object]) -> None:
        for kind, value in message.items():
            if not isinstance(value, dict):
                raise LineInvalid(f"{kind} is not an object")
            if kind == "output":
                data = str(value.get("text")).encode("utf-8", "surrogateescape")
                _write(STREAMS[str(value.get("stream"))], data)
            elif kind == "usage" and self._has_usage:
                _write(USAGE_DESCRIPTOR, encode_line(value))
            elif kind == "ready":
                for number in FORWARDED:
                    signal.signal(number, self._forward)
                self._channel.ready(value)
            elif kind == "failed":
                words = (str(value.get(name) or "") for name in WORDS)
                self._channel.failed(StartFailed(*words))
            elif kind == "exit":
                _end_like(value)

    def _forward(self, number: int, _frame: object) -> None:
        name = signal.Signals(number).name
        try:
            self._gateway.sendall(encode_line({"signal": name}))
        except OSError:
            pass


def _is_open(descriptor: int) -> bool:
    """Returns whether this process inherited it from the host: it has opened nothing
    itself yet.
    """
    try:
        os.set_inheritable(descriptor, False)
    except OSError:
        return False
    return True


def _write(descriptor: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:
        pass


def _end_like(end: dict[str, object]) -> NoReturn:
    """Ends as the worker did."""
    name = end.get("signal")
    if isinstance(name, str):
        number = signal.Signals[name]
        # The worker has crashed: a core dump of this process would show nothing.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    code = end.get("code")
    os._exit(code if isinstance(code, int) else exit_status.FAILED)


def _lost() -> int:
    sys.stderr.write(LOST)
    return exit_status.FAILED


def _nothing(_signal: int, _frame: object) -> None:
    """Does nothing."""
