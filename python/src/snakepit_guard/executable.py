"""Finds a program as execvp(3) does."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping

# What the C library uses without PATH.
_STANDARD_PATH = b"/bin:/usr/bin"


def candidates(executable: bytes, env: Mapping[bytes, bytes]) -> list[bytes]:
    """Returns the paths to try, in order; an empty folder of PATH is the working directory."""
    if not executable:
        return []
    if b"/" in executable:
        return [executable]
    folders = env.get(b"PATH", _STANDARD_PATH).split(b":")
    return [folder + b"/" + executable if folder else executable for folder in folders]


def check_executable(paths: list[bytes]) -> None:
    """Checks whether one of them can be executed, without executing it.

    An exec can still fail after it: the check covers the common reasons.

    Raises:
        OSError: `EACCES` if one exists but may not be executed, else `ENOENT`.
    """
    found = errno.ENOENT
    for path in paths:
        try:
            mode = os.stat(path).st_mode
        except PermissionError:
            found = errno.EACCES
            continue
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                found = error.errno
            continue
        if stat.S_ISREG(mode) and os.access(path, os.X_OK):
            return
        found = errno.EACCES
    raise OSError(found, os.strerror(found))
