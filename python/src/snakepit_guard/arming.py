"""Kernel settings of a guard process: subreaper, death signal, ignored signals."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37

# Sent to all processes of a terminal, or to stop a program in order: the host decides
# then, and the guard waits for what the host does.
DEAF_TO = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

# Loaded before any fork, so that a held child need not load libraries.
_prctl = ctypes.CDLL(None, use_errno=True).prctl


def become_subreaper() -> None:
    """Makes this process the parent of every orphaned descendant.

    Raises:
        OSError: The kernel or a system call filter refuses.
    """
    _call(_PR_SET_CHILD_SUBREAPER, 1)


def is_subreaper() -> bool:
    """Returns whether orphaned descendants become children of this process."""
    answer = ctypes.c_int(0)
    _call(_PR_GET_CHILD_SUBREAPER, ctypes.byref(answer))
    return answer.value == 1


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


def be_deaf() -> None:
    """Ignores signals that are sent to a whole terminal or group."""
    for number in DEAF_TO:
        signal.signal(number, signal.SIG_IGN)


def restore_signals() -> None:
    """Resets and unblocks every signal, as a new program expects."""
    for number in signal.valid_signals():
        try:
            signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):
            pass  # SIGKILL, SIGSTOP, and signals that the C library reserves.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _call(option: int, argument: object) -> None:
    zero = ctypes.c_ulong(0)
    value = ctypes.c_ulong(argument) if isinstance(argument, int) else argument
    if _prctl(ctypes.c_int(option), value, zero, zero, zero) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")
