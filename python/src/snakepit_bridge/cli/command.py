"""How a command runs: where its results go, and how it ends."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import TextIO

__all__ = ["CommandFailed", "give_up_results", "run_command", "write_results"]

# Exit statuses.
TOOL_FAILED = 1
STALE = 1
WRONG_USAGE = 64
WRONG_CALL = 65
NO_TOOLS = 66
NOT_WRITTEN = 73
INTERRUPTED = 130


class CommandFailed(Exception):
    """A command ends here.

    Attributes:
        status: its exit status.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def run_command(run: Callable[[TextIO], None]) -> int:
    """Runs a command, which gets the stream for its results; returns its exit status."""
    with _opened_results() as results:
        try:
            run(results)
        except CommandFailed as failed:
            print(failed, file=sys.stderr)
            return failed.status
    return 0  # Also where the results were not read to their end.


@contextlib.contextmanager
def _opened_results() -> Iterator[TextIO]:
    """Gives a stream to standard output that nothing else writes to from now on.

    What tools, hooks, imports and the programs that they start print goes to standard
    error instead, for the rest of this process's life: the output has results only.
    """
    shared = sys.stdout
    if shared is None:
        # It was closed: writing fails.
        with os.fdopen(os.open(os.devnull, os.O_RDONLY), "w") as nowhere:
            yield nowhere
        return
    own = os.fdopen(
        os.dup(shared.fileno()), "w", encoding=shared.encoding, errors=shared.errors
    )
    # The descriptor is redirected, not the object replaced: C code and children have
    # it too, and a debugger edits lines only where `sys.stdout` is descriptor 1.
    # Without a standard error there is one stream for all.
    with contextlib.suppress(OSError):
        os.dup2(2, shared.fileno())
    if isinstance(shared, io.TextIOWrapper):
        shared.reconfigure(line_buffering=True)
    with own:
        try:
            yield own
            own.flush()
        except BrokenPipeError:
            give_up_results(own)


def write_results(results: TextIO, text: str | bytes) -> None:
    """Writes at once.

    Raises:
        BrokenPipeError: the reader has closed the pipe.
        CommandFailed: it cannot be written, to a full disk for instance.
    """
    try:
        if isinstance(text, bytes):
            results.buffer.write(text)
        else:
            results.write(text)
        results.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        give_up_results(results)
        problem = f"standard output cannot be written: {error}"
        raise CommandFailed(NOT_WRITTEN, problem) from error


def give_up_results(results: TextIO) -> None:
    """Drops what is written from now on: the reader has closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), results.fileno())
