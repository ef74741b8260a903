"""How a command finds its tools, where its results go, and how it ends."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from snakepit_bridge.failures.python_error import traceback_text
from snakepit_bridge.threads.main_thread import MainThread
from snakepit_bridge.tools.loading import NoSource, load_file, load_module
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.tools.toolbox import Toolbox, ToolsInvalid

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


def write_file(path: str, text: str) -> None:
    """Replaces a file in one step; of a link, the file that it leads to.

    Raises:
        CommandFailed: it cannot be written; or it is there and no file, or the
            source of a module that is loaded, and is left as it is.
    """
    real = os.path.realpath(path)
    try:
        _replace(real, text, _mode(real))
    except (OSError, _Refused) as error:
        problem = f"{path} cannot be written: {error}"
        raise CommandFailed(NOT_WRITTEN, problem) from error


class _Refused(Exception):
    """What is there is not to be replaced."""


def _mode(path: str) -> int | None:
    """Returns the permissions of a file that may be replaced; None if there is none."""
    try:
        mode = os.stat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode.st_mode):
        raise _Refused("it exists and is not a regular file")
    with contextlib.suppress(OSError):
        # `/dev/stdout` leads there, too: standard output is turned to it by now.
        if os.path.samestat(os.fstat(2), mode):
            raise _Refused("standard error is written to it")
    for name, module in list(sys.modules.items()):
        # Not `module.__file__`: a module that loads itself late would do so now.
        source = getattr(module, "__dict__", {}).get("__file__")
        if not isinstance(source, str):
            continue
        with contextlib.suppress(OSError, ValueError):
            if os.path.samestat(os.stat(source), mode):
                raise _Refused(f"it is the source of {name}, which is loaded")
    return mode.st_mode & 0o777


def _replace(path: str, text: str, mode: int | None) -> None:
    beside = f"{path}.{secrets.token_hex(4)}"
    with open(beside, "x", encoding="utf-8", newline="\n") as file:
        try:
            file.write(text)
            file.flush()
            if mode is not None:
                os.chmod(beside, mode)
            os.replace(beside, path)
        except BaseException:
            os.unlink(beside)
            raise


def load_target(targets: Sequence[str], main: MainThread) -> Toolbox:
    """Imports files and modules and runs their start-up hooks.

    When one fails, what has started is ended.

    Args:
        targets: each a file or module. After a colon, names of functions that are
            exposed as they are: `math:sqrt,pow`.
        main: runs the hooks.

    Raises:
        CommandFailed: that fails.
    """
    toolbox = _loaded(targets)
    # The last one: a module's hooks run after all are imported.
    with _reported(targets[-1]):
        toolbox.start(lambda hook: main.complete(hook()))
    return toolbox


def load_tools(targets: Sequence[str]) -> dict[str, Tool]:
    """Returns the tools of files and modules for a command that calls none: it imports
    them, and runs no hook and makes no toolset, which may load a model.

    Raises:
        CommandFailed: they cannot be loaded.
    """
    toolbox = _loaded(targets)
    with _reported(targets[-1]):
        return toolbox.described()


def _loaded(targets: Sequence[str]) -> Toolbox:
    toolbox = Toolbox()
    for target in targets:
        with _reported(target):
            _add(toolbox, target)
    return toolbox


@contextlib.contextmanager
def _reported(target: str) -> Iterator[None]:
    """Raises what fails as a failure of the command."""
    try:
        yield
    except (NoSource, ToolsInvalid) as error:
        raise CommandFailed(NO_TOOLS, f"cannot load {target}: {error}") from error
    except SystemExit as error:
        # Of a program, not of tools: it would end this one as if all had been done.
        code = error.code or 0
        status = code if isinstance(code, int) else 1
        problem = f"it ended Python with exit status {status} while it was loaded"
        text = f"{traceback_text(error)}\ncannot load {target}: {problem}"
        raise CommandFailed(NO_TOOLS, text) from error
    except Exception as error:
        text = f"{traceback_text(error)}\ncannot load {target}"
        raise CommandFailed(NO_TOOLS, text) from error


def _add(toolbox: Toolbox, target: str) -> None:
    origin, colon, names = target.rpartition(":")
    origin = origin if colon else target
    if origin.endswith(".py") or os.sep in origin:
        module = load_file(origin)
    else:
        sys.path.insert(0, os.getcwd())
        module = load_module(origin)
    toolbox.add(module, names.split(",") if colon else None)
