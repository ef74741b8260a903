"""What a worker is to the system: last to be spared, and deaf to Ctrl-C."""

from __future__ import annotations

import _thread
import faulthandler
import os
import signal
import sys

from snakepit_bridge.boot import exit_status, forked_copy

# Under memory pressure the kernel shall take a worker and not the host.
OOM_SCORE = 500

# Writes all stacks, as soon as a thread of the bridge runs.
DUMP_SIGNAL = signal.SIGUSR1
# Writes all stacks at once, by force: for one who is about to end the process.
LAST_DUMP_SIGNAL = signal.SIGQUIT
CANCEL_SIGNAL = signal.SIGUSR2


def set_up_process() -> None:
    """Sets the process's own habits; the bridge replaces SIGTERM's when it starts."""
    _raise_oom_score()
    # Not SIG_IGN: that would be inherited by every program a tool starts.
    signal.signal(signal.SIGINT, _nothing)
    signal.signal(signal.SIGTERM, _leave_at_once)
    signal.signal(CANCEL_SIGNAL, _nothing)
    signal.signal(DUMP_SIGNAL, _dumped_by_the_bridge)
    faulthandler.enable(file=sys.stderr, all_threads=True)
    write_stacks_when_asked()
    os.register_at_fork(
        before=_hold_sigterm, after_in_parent=_release_sigterm, after_in_child=_be_child
    )


def write_stacks_when_asked() -> None:
    """Has the last dump signal write all stacks, until `write_stacks_no_more`."""
    # A signal handler in C, which answers even where the GIL is held. Where it is not,
    # it reads stacks that may change meanwhile: that can end the process.
    faulthandler.register(
        LAST_DUMP_SIGNAL, file=sys.stderr, all_threads=True, chain=False
    )


def write_stacks_no_more() -> None:
    """Has the signal do what it did before."""
    faulthandler.unregister(LAST_DUMP_SIGNAL)


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


def _dumped_by_the_bridge(_signal: int, _frame: object) -> None:
    """Does nothing: the bridge's thread is told by itself."""


def is_dump_signal_ours() -> bool:
    """Returns whether the tools have left the signal to the bridge."""
    return signal.getsignal(DUMP_SIGNAL) is _dumped_by_the_bridge


def _leave_at_once(_signal: int, _frame: object) -> None:
    # Nothing runs yet that could be finished.
    os._exit(exit_status.LEFT)


# A child that a tool forks (multiprocessing) is no worker: SIGTERM ends it. It is
# held back until that is set up, else one that comes at once would be lost.
_masks: dict[int, set[signal.Signals]] = {}


def _hold_sigterm() -> None:
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    _masks[_thread.get_ident()] = {signal.Signals(number) for number in mask}


def _release_sigterm() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _masks.pop(_thread.get_ident()))


def _be_child() -> None:
    # Else its signals would be written where the worker reads its own.
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(CANCEL_SIGNAL, signal.SIG_DFL)
    if is_dump_signal_ours():
        signal.signal(DUMP_SIGNAL, signal.SIG_DFL)
    # That leaves what was there before: a shell's background job ignores it.
    write_stacks_no_more()
    signal.signal(LAST_DUMP_SIGNAL, signal.SIG_DFL)
    forked_copy.this_is_one = True
    _release_sigterm()
