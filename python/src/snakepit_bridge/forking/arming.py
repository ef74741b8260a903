"""The death signal of a forked worker."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1

# Loaded before any fork, so that a held child need not load libraries.
_prctl = ctypes.CDLL(None, use_errno=True).prctl


def die_with_parent(parent: int) -> None:
    """Kills this process when the parent that forked it dies; exits if it is dead.

    The setting survives an exec, but not a fork.

    Raises:
        OSError: The kernel or a system call filter refuses.
    """
    _call(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    # It may have died before this was armed. Compared with its pid: under another
    # subreaper, or in a container, the new parent need not be process 1.
    if os.getppid() != parent:
        os._exit(1)


def outlive_parent() -> None:
    """Undoes `die_with_parent`: something else ends this process, and its group.

    Raises:
        OSError: The kernel or a system call filter refuses.
    """
    _call(_PR_SET_PDEATHSIG, 0)


def _call(option: int, argument: int) -> None:
    zero = ctypes.c_ulong(0)
    if _prctl(ctypes.c_int(option), ctypes.c_ulong(argument), zero, zero, zero) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")
