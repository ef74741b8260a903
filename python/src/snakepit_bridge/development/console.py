"""The input and output of a person at a debugger."""

from __future__ import annotations

import abc
import contextlib
import fcntl
import io
import os
import shlex
import socket
import sys
import threading

from snakepit_bridge.boot.control_channel import StartFailed

__all__ = ["Console", "SocketConsole", "TerminalConsole"]


class Console(abc.ABC):
    """A file of text for `pdb`. As a context manager it is for one thread at a time.

    The end of what a person types continues the program, and so does a person who
    leaves.

    Attributes:
        thread: The one that has it.
    """

    encoding = "utf-8"

    def __init__(self) -> None:
        self.thread: int | None = None
        self._stream: io.RawIOBase | None = None
        # What `pdb` writes before it prompts.
        self._early = ""

    def __enter__(self) -> None:
        self._stream = self._take()
        self.thread = threading.get_ident()
        early, self._early = self._early, ""
        self.write(early)

    def __exit__(self, *_error: object) -> None:
        self.thread = None
        stream, self._stream = self._stream, None
        self._give_back(stream)

    def readline(self) -> str:
        """Returns a line that a person typed."""
        line: bytes | None = b""
        with contextlib.suppress(OSError):
            line = self._stream.readline() if self._stream is not None else b""
        return line.decode("utf-8", "replace") if line else "continue\n"

    def write(self, text: str) -> int:
        """Shows text; drops it if the person has left."""
        if self._stream is None:
            self._early += text
            return len(text)
        data = memoryview(text.encode("utf-8", "replace"))
        with contextlib.suppress(OSError):
            while data:
                data = data[self._stream.write(data) or 0 :]
        return len(text)

    def flush(self) -> None:
        """All is written already."""
        return

    def close(self) -> None:
        """Nobody can stop any more."""
        return

    @abc.abstractmethod
    def _take(self) -> io.RawIOBase:
        """Waits until it is free."""

    @abc.abstractmethod
    def _give_back(self, stream: io.RawIOBase | None) -> None:
        """Lets others have it."""


class TerminalConsole(Console):
    """The terminal that is standard input: workers of several pools may share it."""

    def _take(self) -> io.RawIOBase:
        try:
            terminal = os.open(os.ttyname(0), os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:  # It belongs to another user, as after `su`.
            terminal = os.dup(0)
        # Until it is closed; not every system locks terminals.
        with contextlib.suppress(OSError):
            fcntl.flock(terminal, fcntl.LOCK_EX)
        return io.FileIO(terminal, "r+")

    def _give_back(self, stream: io.RawIOBase | None) -> None:
        if stream is not None:
            stream.close()


class SocketConsole(Console):
    """A Unix socket to which `python -m snakepit_bridge attach` connects."""

    def __init__(self, path: str) -> None:
        """Listens.

        Raises:
            StartFailed: The socket cannot be made.
        """
        super().__init__()
        self._path = path
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._listener.bind(path)
            self._listener.listen()
        except OSError as error:
            self._listener.close()
            raise StartFailed(
                "SOCKET_UNUSABLE", f"the debugger cannot listen on {path}: {error}"
            ) from None
        self._lock = threading.Lock()
        self._person: socket.socket | None = None

    def _take(self) -> io.RawIOBase:
        self._lock.acquire()
        while self._person is None or _has_left(self._person):
            if self._person is not None:
                self._person.close()
            self._say_how_to_attach()
            self._person, _ = self._listener.accept()
        return self._person.makefile("rwb", buffering=0)

    def _give_back(self, stream: io.RawIOBase | None) -> None:
        if stream is not None:
            stream.close()
        if self._person is not None and _has_left(self._person):
            self._person.close()
            self._person = None
        self._lock.release()

    def close(self) -> None:
        """Nobody can attach any more."""
        self._listener.close()
        if self._person is not None:
            self._person.close()

    def _say_how_to_attach(self) -> None:
        command = [sys.executable, "-m", "snakepit_bridge", "attach", self._path]
        print(
            f"breakpoint(): process {os.getpid()} has stopped. To attach, run this "
            f"command in a terminal: {shlex.join(command)}",
            file=sys.__stderr__,
            flush=True,
        )


def _has_left(person: socket.socket) -> bool:
    try:
        return not person.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
