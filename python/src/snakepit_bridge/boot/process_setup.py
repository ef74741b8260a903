"""Sets up signals and memory pressure for a worker: it ignores Ctrl-C, and the kernel
kills it before its host."""

from __future__ import annotations

import _thread
import faulthandler
import os
import sys

from snakepit_bridge.boot import exit_status, forked_copy
from snakepit_bridge.when_imported import when_imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Iterable
else:
    # Without the enumerations of `signal`, which take longer to create than everything
    # else here.
    import _signal as signal

# Under memory pressure, the kernel must kill a worker, not the host.
OOM_SCORE = 500

# Writes all stacks as soon as the bridge's thread runs.
DUMP_SIGNAL = signal.SIGUSR1
# Writes all stacks at once, even if that may crash the process: sent directly before a
# kill.
LAST_DUMP_SIGNAL = signal.SIGQUIT
CANCEL_SIGNAL = signal.SIGUSR2


def set_up_process() -> None:
    """Sets the signal handlers; the bridge replaces that of SIGTERM when it starts."""
    _raise_oom_score()
    # Not SIG_IGN, which every program that a tool starts would inherit.
    signal.signal(signal.SIGINT, _nothing)
    signal.signal(signal.SIGTERM, _leave_at_once)
    signal.signal(CANCEL_SIGNAL, _nothing)
    signal.signal(DUMP_SIGNAL, _dumped_by_the_bridge)
    # A system call of a library in C goes on, as far as the kernel can continue it.
    signal.siginterrupt(DUMP_SIGNAL, False)
    faulthandler.enable(file=sys.stderr, all_threads=True)
    write_stacks_when_asked()
    os.register_at_fork(
        before=_hold_sigterm, after_in_parent=_release_sigterm, after_in_child=_be_child
    )


# What removes what a process has named, where that does not do it itself. joblib has a
# loky of its own.
_TRACKERS = (
    "multiprocessing.resource_tracker",
    "loky.backend.resource_tracker",
    "joblib.externals.loky.backend.resource_tracker",
)


def note_what_it_names(lifeline: str) -> None:
    """Keeps a record of the shared memory that `multiprocessing` and loky name, for the
    host.

    Args:
        lifeline: The path of the lifeline, in the directory of this process.
    """

    def begin(tracker: str) -> None:
        try:
            from snakepit_bridge.named_memory import keep_record

            keep_record(lifeline.rpartition("/")[0], tracker)
        except Exception:  # noqa: BLE001 - an import of the tool's must not fail for it
            return

    if sys.platform == "linux":
        when_imported(begin, *_TRACKERS)


def write_stacks_when_asked() -> None:
    """Makes the last dump signal write all stacks, until `write_stacks_no_more`."""
    # A signal handler in C, which works even while the GIL is held. While the GIL is
    # not held, stacks may change as they are read, which can crash the process.
    faulthandler.register(
        LAST_DUMP_SIGNAL, file=sys.stderr, all_threads=True, chain=False
    )


def write_stacks_no_more() -> None:
    """Restores the earlier effect of the signal."""
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
    """Does nothing: the bridge's thread gets the signal through its wakeup descriptor."""


def is_dump_signal_ours() -> bool:
    """Returns whether the tools have not replaced the bridge's handler."""
    return signal.getsignal(DUMP_SIGNAL) is _dumped_by_the_bridge


def _leave_at_once(_signal: int, _frame: object) -> None:
    # No call is running yet that could be finished.
    os._exit(exit_status.LEFT)


# A child that a tool forks (multiprocessing) is not a worker: SIGTERM ends it. The
# signal is blocked until that is set up, because one that arrives at once would be
# lost.
_masks: dict[int, Iterable[int]] = {}


def _hold_sigterm() -> None:
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    _masks[_thread.get_ident()] = mask


def _release_sigterm() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _masks.pop(_thread.get_ident()))


def _be_child() -> None:
    # Otherwise, the worker would read the child's signals as its own.
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(CANCEL_SIGNAL, signal.SIG_DFL)
    if is_dump_signal_ours():
        signal.signal(DUMP_SIGNAL, signal.SIG_DFL)
    # That restores the earlier handler; in a background job of a shell the signal is ignored.
    write_stacks_no_more()
    signal.signal(LAST_DUMP_SIGNAL, signal.SIG_DFL)
    forked_copy.this_is_one = True
    _release_sigterm()
