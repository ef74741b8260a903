"""Threads of tools that keep a finished worker running."""

from __future__ import annotations

import os
import threading
import time

# Those of an executor end as soon as Python asks them to, which is a moment later.
GRACE_S = 1.0


def name_threads_left() -> None:
    """Says on stderr which threads Python waits for, if it still does after a moment.

    Nothing else would: Python waits for them silently and without a limit, and the host
    kills the worker when its time limit is over.
    """
    if _threads_left():
        threading.Thread(target=_name_them, name="threads-left", daemon=True).start()


def _name_them() -> None:
    time.sleep(GRACE_S)
    names = [thread.name for thread in _threads_left()]
    if names:
        # Not by sys.stderr: a daemon that holds its lock would abort Python's end.
        os.write(2, _text(names).encode(errors="replace"))


def _text(names: list[str]) -> str:
    subject, start, end = (
        ("a thread", "Start it", "end it")
        if len(names) == 1
        else (f"{len(names)} threads", "Start them", "end them")
    )
    return (
        f"This worker cannot exit, because its tools started {subject}: "
        f"{', '.join(names)}. {start} with daemon=True, or {end} in an "
        "@on_shutdown hook. Otherwise the host has to kill each worker "
        "(stop.killAfterMs).\n"
    )


def _threads_left() -> list[threading.Thread]:
    main = threading.main_thread()
    return [
        thread
        for thread in threading.enumerate()
        if thread is not main and not thread.daemon
    ]
