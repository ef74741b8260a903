"""`breakpoint()` in a tool stops there, and a person looks."""

from __future__ import annotations

import os
import pdb
import sys
import threading
from collections.abc import Callable
from typing import IO, cast

from snakepit_bridge.development.console import Console, SocketConsole, TerminalConsole

__all__ = ["stop_at_breakpoints"]

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
        from snakepit_bridge.development.editor import listen_for_editor

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
