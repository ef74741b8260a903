"""A held child of the guard becomes another program."""

from __future__ import annotations

import errno
import os

from snakepit_guard import arming
from snakepit_guard.executable import candidates, check_executable
from snakepit_guard.requests import Start

_SHELL = b"/bin/sh"
# Not found: the next folder of PATH may have it.
_NOT_HERE = {errno.ENOENT, errno.ENOTDIR, errno.ESTALE, errno.ENODEV, errno.ETIMEDOUT}


class Execution:
    """A program that replaces this process; see `fork.Becoming`."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._paths = candidates(start.executable, start.env)

    def prepare(self) -> None:
        """Changes to the working directory and finds the program, in the child.

        Raises:
            OSError: The directory or the program does not exist, or may not be used.
        """
        arming.restore_signals()
        os.chdir(self._start.cwd)
        check_executable(self._paths)

    def begin(self, reported: int) -> None:
        """Replaces this process, in the child; never returns. The exec closes `reported`.

        Raises:
            OSError: The system cannot execute it.
        """
        refused = errno.ENOENT
        for path in self._paths:
            error = self._execute(path)
            if error.errno == errno.EACCES:
                refused = errno.EACCES
            elif error.errno not in _NOT_HERE:
                raise error
        raise OSError(refused, os.strerror(refused))

    def _execute(self, path: bytes) -> OSError:
        args = [self._start.executable, *self._start.args]
        try:
            os.execve(path, args, self._start.env)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                return error
        # Neither machine code nor a first line that names an interpreter: execvp(3), and
        # so Node, runs it as a shell script.
        try:
            os.execve(_SHELL, [_SHELL, path, *self._start.args], self._start.env)
        except OSError as error:
            return error
        raise AssertionError("exec returned")
