"""The tools that a command is about."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence

from snakepit_bridge.cli.command import NO_TOOLS, CommandFailed
from snakepit_bridge.failures.python_error import traceback_text
from snakepit_bridge.threads.main_thread import MainThread
from snakepit_bridge.tools.loading import NoSource, load_file, load_module
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.tools.toolbox import Toolbox, ToolsInvalid

__all__ = ["load_target", "load_tools"]


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
        _start(toolbox, main)
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
    place, colon, names = target.rpartition(":")
    place = place if colon else target
    if place.endswith(".py") or os.sep in place:
        module = load_file(place)
    else:
        sys.path.insert(0, os.getcwd())
        module = load_module(place)
    toolbox.add(module, names.split(",") if colon else None)


def _start(toolbox: Toolbox, main: MainThread) -> None:
    try:
        for hook in toolbox.startup_hooks():
            main.complete(hook())
    except BaseException:
        toolbox.shut_down(lambda hook: main.complete(hook()))
        raise
