"""Descendants, each named by its habit and by the role under which it connects to the exit watcher.

As a program, it leaves those whose roles it is given, and ends.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable

from exit_watcher import held, hold

#: A fork loop stops by itself here.
MOST_FORKS = 300


def child() -> None:
    """Stays in the worker's group."""
    fork(lambda: stay("child"))


def child_that_ignores_sigterm() -> None:
    """Stays in the worker's group, and only SIGKILL ends it."""

    def run() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        stay("ignores-sigterm")

    fork(run)


def daemon_with_its_environment() -> None:
    """Has a session and a group of its own; its marker is still there."""

    def run() -> None:
        os.setsid()
        close_everything()
        stay("daemon")

    fork(run)


def daemon_without_anything() -> None:
    """Has a session of its own, was forked twice, holds no descriptor, and its environment is empty."""
    path = os.environ["CHAOS_EXIT_WATCHER"]
    here = os.path.dirname(os.path.abspath(__file__))
    program = f"import sys; sys.path.insert(0, {here!r}); import descendants; descendants.stay('forgotten', {path!r})"

    def run() -> None:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        close_everything()
        os.execve(sys.executable, [sys.executable, "-c", program], {})

    os.waitpid(fork(run), 0)


def fork_loop(role: str, become: Callable[[], None]) -> None:
    """Has always one child more, and so has each; stops by itself."""

    def run() -> None:
        become()
        hold(role)
        for _ in range(MOST_FORKS):
            if os.fork() == 0:
                become()
                time.sleep(600)
            time.sleep(0.002)
        time.sleep(600)

    fork(run)


def stay(role: str, path: str | None = None) -> None:
    """Connects to the exit watcher, and never returns."""
    hold(role, path)
    while True:
        time.sleep(600)


def fork(run: Callable[[], None]) -> int:
    """Forks; the child runs and never returns here."""
    pid = os.fork()
    if pid == 0:
        try:
            for connection in held:
                connection.close()
            run()
        finally:
            os._exit(1)
    return pid


def close_everything() -> None:
    """Closes what could tie a process to its parent."""
    os.chdir("/")
    os.closerange(3, 4096)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)


HABITS: dict[str, Callable[[], object]] = {
    "child": child,
    "ignores-sigterm": child_that_ignores_sigterm,
    "daemon": daemon_with_its_environment,
    "forgotten": daemon_without_anything,
    "fork-loop": lambda: fork_loop("fork-loop", lambda: None),
    "session-fork-loop": lambda: fork_loop("session-fork-loop", os.setsid),
}


def leave(roles: Iterable[str]) -> None:
    for role in roles:
        HABITS[role]()


if __name__ == "__main__":
    leave(sys.argv[1:])
