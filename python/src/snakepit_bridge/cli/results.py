"""Where a command writes what it found out."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from snakepit_bridge.cli.exit_codes import NOT_WRITTEN
from snakepit_bridge.cli.load_target import CommandFailed

__all__ = ["give_up_results", "opened_results", "write_results"]


@contextlib.contextmanager
def opened_results() -> Iterator[TextIO]:
    """Gives a stream to standard output that nobody else writes to from now on.

    What tools, hooks and imports print, and the programs that they start, goes to
    standard error instead, for the rest of this process's life: whoever reads the
    output reads results only.
    """
    shared = sys.stdout
    if shared is None:
        # It was closed. That matters when something is written, which fails here.
        with os.fdopen(os.open(os.devnull, os.O_RDONLY), "w") as nowhere:
            yield nowhere
        return
    own = os.fdopen(
        os.dup(shared.fileno()), "w", encoding=shared.encoding, errors=shared.errors
    )
    # The descriptor is turned, not the object replaced: C code and children have
    # it too, and a debugger edits lines only where `sys.stdout` is descriptor 1.
    # Without a standard error all goes one way.
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
    """Writes at once, to whoever reads.

    Raises:
        BrokenPipeError: who reads has enough.
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
    """Whoever read them has enough: nothing more is said, also when they are closed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), results.fileno())
