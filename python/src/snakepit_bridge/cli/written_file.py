"""The file that a command makes."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys

from snakepit_bridge.cli.command import NOT_WRITTEN, CommandFailed

__all__ = ["write_file"]


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
        found = os.stat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise _Refused("it exists and is not a regular file")
    with contextlib.suppress(OSError):
        # `/dev/stdout` leads there, too: standard output is turned to it by now.
        if os.path.samestat(os.fstat(2), found):
            raise _Refused("standard error is written to it")
    for name, module in list(sys.modules.items()):
        # Not `module.__file__`: a module that loads itself late would do so now.
        source = getattr(module, "__dict__", {}).get("__file__")
        if not isinstance(source, str):
            continue
        with contextlib.suppress(OSError, ValueError):
            if os.path.samestat(os.stat(source), found):
                raise _Refused(f"it is the source of {name}, which is loaded")
    return found.st_mode & 0o777


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
