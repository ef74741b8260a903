"""`breakpoint()` in a tool stops there, and a person looks: at a terminal, over a socket,
or in an editor through debugpy.
"""

from __future__ import annotations

import abc
import contextlib
import fcntl
import io
import json
import os
import pdb
import shlex
import socket
import sys
import threading
from collections.abc import Callable
from typing import IO, cast

from snakepit_bridge.boot.control_channel import StartFailed


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


_LOOPBACK = "127.0.0.1"


def listen_for_editor() -> tuple[Callable[..., None], Callable[[], None]]:
    """Listens on a random port of the loopback.

    Returns what stops its caller, and what ends the debugger.

    debugpy is part of this process then, and not a daemon that survives it.

    Raises:
        StartFailed: debugpy is not installed, or does not say where it listens.
    """
    try:
        import debugpy
    except ImportError as error:
        raise _unusable(f"debugpy cannot be imported: {error}") from None
    address = debugpy.listen((_LOOPBACK, 0), in_process_debug_adapter=True)
    if address is None:
        raise _unusable(f"debugpy {debugpy.__version__} does not say where it listens")
    # debugpy brings it along.
    import pydevd

    _say(
        f"debugpy listens on {_LOOPBACK}:{address[1]}, for process {os.getpid()}. Any "
        "user of this machine can connect and run code. For VS Code, in launch.json: "
        + json.dumps(
            {
                "name": "Worker",
                "type": "debugpy",
                "request": "attach",
                "connect": {"host": _LOOPBACK, "port": address[1]},
            }
        )
    )

    def stop(*_args: object, **_named: object) -> None:
        if not debugpy.is_client_connected():
            _say(f"breakpoint(): process {os.getpid()} waits for an editor")
            debugpy.wait_for_client()
        pydevd.settrace(
            suspend=True,
            trace_only_current_thread=True,
            patch_multiprocessing=False,
            stop_at_frame=sys._getframe(1),
        )

    def end() -> None:
        # Once an editor has left, one of its threads would keep this process for ever.
        debugger = pydevd.get_global_debugger()
        if debugger is not None:
            debugger.dispose_and_kill_all_pydevd_threads()

    return stop, end


def _unusable(problem: str) -> StartFailed:
    install = f"{sys.executable} -m pip install --upgrade debugpy"
    return StartFailed("DEBUGGER_UNUSABLE", problem, install)


def _say(text: str) -> None:
    print(text, file=sys.__stderr__, flush=True)


# A person who steps out of a tool does not see the bridge's calls.
_SKIPPED = (
    "snakepit_bridge.*",
    "asyncio.*",
    "concurrent.*",
    "threading",
    "contextvars",
)


def stop_at_breakpoints(mode: str, socket: str) -> Callable[[], None]:
    """Has `breakpoint()` stop its caller, unless the environment has a PYTHONBREAKPOINT.

    Returns what is called when the worker is about to end.

    Args:
        mode: `terminal`, which is `socket` where standard input is no terminal, or
            `debugpy`.
        socket: The path on which a debugger listens for `attach`.

    Raises:
        StartFailed: There is no debugpy, or the socket cannot be made.
    """
    if mode == "debugpy":
        # Imported here: no worker has debugpy but one that is debugged with it.

        stop, end = listen_for_editor()
    else:
        stop, end = _with_pdb(mode, socket)
    if not os.environ.get("PYTHONBREAKPOINT"):
        sys.breakpointhook = stop
    return end


def _with_pdb(mode: str, socket: str) -> tuple[Callable[..., None], Callable[[], None]]:
    console = (
        TerminalConsole()
        if mode == "terminal" and os.isatty(0)
        else SocketConsole(socket)
    )

    def stop(*_args: object, **_named: object) -> None:
        # At a prompt, it would wait for the person, who waits for it.
        if console.thread != threading.get_ident():
            _WorkerPdb(console).set_trace(sys._getframe(1))

    return stop, console.close


class _WorkerPdb(pdb.Pdb):
    """A debugger that has the console only while it prompts: another thread, or worker,
    may stop meanwhile."""

    def __init__(self, console: Console) -> None:
        file = cast(IO[str], console)
        # Only the main thread may set handlers, and Ctrl-C is the host's.
        super().__init__(stdin=file, stdout=file, skip=_SKIPPED, nosigint=True)
        self._console = console

    def interaction(self, *args: object, **named: object) -> None:
        with self._console:
            super().interaction(*args, **named)  # type: ignore[arg-type]
