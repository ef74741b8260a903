"""What the kernel is asked to do for a process of the guard."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37

# Sent to everybody in a terminal or by whoever stops a program in order: the host
# decides then, and the guard waits for what the host does.
DEAF_TO = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

# Loaded before any fork: a child that is held shall not load libraries.
_prctl = ctypes.CDLL(None, use_errno=True).prctl


def become_subreaper() -> None:
    """Makes this process the parent of every orphan below it.

    Raises:
        OSError: The kernel or a filter of system calls refuses.
    """
    _call(_PR_SET_CHILD_SUBREAPER, 1)


def is_subreaper() -> bool:
    """Returns whether orphans below this process become its children."""
    answer = ctypes.c_int(0)
    _call(_PR_GET_CHILD_SUBREAPER, ctypes.byref(answer))
    return answer.value == 1


def die_with_parent(parent: int) -> None:
    """Ties this process to the parent that forked it; returns not if that is gone.

    The setting survives an exec, but not a fork.

    Raises:
        OSError: The kernel or a filter of system calls refuses.
    """
    _call(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    # It may have died before this was armed. Compared with its very pid: under
    # another subreaper, or as the first process of a container, 1 means nothing.
    if os.getppid() != parent:
        os._exit(1)


def outlive_parent() -> None:
    """Takes `die_with_parent` back: something else ends this process, and its group.

    Raises:
        OSError: The kernel or a filter of system calls refuses.
    """
    _call(_PR_SET_PDEATHSIG, 0)


def be_deaf() -> None:
    """Ignores the signals that go to a whole terminal or group."""
    for number in DEAF_TO:
        signal.signal(number, signal.SIG_IGN)


def restore_signals() -> None:
    """Gives every signal its default meaning and blocks none, as a fresh program expects."""
    for number in signal.valid_signals():
        try:
            signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):
            pass  # SIGKILL, SIGSTOP, and those that the C library keeps for itself.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _call(option: int, argument: object) -> None:
    zero = ctypes.c_ulong(0)
    value = ctypes.c_ulong(argument) if isinstance(argument, int) else argument
    if _prctl(ctypes.c_int(option), value, zero, zero, zero) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")
