"""Descendants, each named by its habit and by the role under which the witness sees it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from witness import held, hold

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


def daemon_that_holds_the_output() -> None:
    """Has a session of its own, and the worker's standard output."""

    def run() -> None:
        os.setsid()
        stay("holds-output")

    fork(run)


def daemon_without_anything() -> None:
    """Has a session of its own, was forked twice, holds no descriptor, and its environment is empty."""
    path = os.environ["CHAOS_WITNESS"]
    here = os.path.dirname(os.path.abspath(__file__))
    program = f"import sys; sys.path.insert(0, {here!r}); import descendants; descendants.stay('forgotten', {path!r})"

    def run() -> None:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        close_everything()
        os.execve(python(), [python(), "-c", program], {})

    fork(run, ends=True)


def daemon_without_its_first_thread() -> None:
    """Has a session of its own and an empty environment, and runs on in its second thread."""
    path = os.environ["CHAOS_WITNESS"]
    here = os.path.dirname(os.path.abspath(__file__))
    program = f"import sys; sys.path.insert(0, {here!r}); import descendants; descendants.stay_in_a_thread({path!r})"

    def run() -> None:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        close_everything()
        os.execve(python(), [python(), "-c", program], {})

    fork(run, ends=True)


def stay_in_a_thread(path: str) -> None:
    """Stays in another thread than the first one, which ends."""
    import ctypes
    import platform
    import threading

    def run() -> None:
        state = ""
        while state != "Z":
            with open("/proc/self/stat") as file:
                text = file.read()
            state = text[text.rindex(")") + 2]
        stay("first-thread-ended", path)

    threading.Thread(target=run).start()
    # exit(2), which ends one thread only.
    ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)


def fork_loop() -> None:
    """Has always one child more in its group, and so has each; stops by itself."""

    def run() -> None:
        hold("fork-loop")
        for _ in range(MOST_FORKS):
            if os.fork() == 0:
                time.sleep(600)
            time.sleep(0.002)
        time.sleep(600)

    fork(run)


def fork_loop_in_sessions() -> None:
    """Has always one child more, each in a session and a group of its own; stops by itself."""

    def run() -> None:
        os.setsid()
        hold("session-fork-loop")
        for _ in range(MOST_FORKS):
            if os.fork() == 0:
                os.setsid()
                time.sleep(600)
            time.sleep(0.002)
        time.sleep(600)

    fork(run)


def python() -> str:
    """The interpreter, also where the environment is empty."""
    import sys

    return sys.executable


def stay(role: str, path: str | None = None) -> None:
    """Connects to the witness, and never returns."""
    hold(role, path)
    while True:
        time.sleep(600)


def fork(run: Callable[[], None], *, ends: bool = False) -> int:
    """Forks; the child runs and never returns here."""
    pid = os.fork()
    if pid == 0:
        try:
            for connection in held:
                connection.close()
            run()
        finally:
            os._exit(1)
    if ends:
        os.waitpid(pid, 0)
    return pid


def close_everything() -> None:
    """Closes what could tie a process to its parent."""
    os.chdir("/")
    os.closerange(3, 4096)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
