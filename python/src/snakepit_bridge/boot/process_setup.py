"""What a worker is to the system: last to be spared, and deaf to Ctrl-C."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys

from snakepit_bridge.boot import exit_status

# Under memory pressure the kernel shall take a worker and not the host.
OOM_SCORE = 500

DUMP_SIGNAL = signal.SIGUSR1
CANCEL_SIGNAL = signal.SIGUSR2


def set_up_process() -> None:
    """Sets the process's own habits; the bridge replaces SIGTERM's when it starts."""
    _raise_oom_score()
    # Not SIG_IGN: that would be inherited by every program a tool starts.
    signal.signal(signal.SIGINT, _nothing)
    signal.signal(signal.SIGTERM, _leave_at_once)
    signal.signal(CANCEL_SIGNAL, _nothing)
    # Written by a C signal handler: it answers even where the GIL is held.
    faulthandler.enable(file=sys.stderr, all_threads=True)
    faulthandler.register(DUMP_SIGNAL, file=sys.stderr, all_threads=True, chain=False)
    os.register_at_fork(after_in_child=_give_signals_back)


def _raise_oom_score() -> None:
    path = "/proc/self/oom_score_adj"
    try:
        with open(path) as current:
            if int(current.read()) >= OOM_SCORE:
                return
        with open(path, "w") as score:
            score.write(str(OOM_SCORE))
    except (OSError, ValueError):
        pass


def _nothing(_signal: int, _frame: object) -> None:
    """Does nothing."""


def _leave_at_once(_signal: int, _frame: object) -> None:
    # Nothing runs yet that could be finished.
    os._exit(exit_status.LEFT)


def _give_signals_back() -> None:
    # A child forked by a tool (multiprocessing) is no worker: SIGTERM ends it.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(CANCEL_SIGNAL, signal.SIG_DFL)
