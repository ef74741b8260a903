"""What a held child of a preloaded parent becomes: a worker."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import traceback

from snakepit_bridge.boot.worker import run_worker
from snakepit_bridge.preload.environment import take_environment
from snakepit_guard import arming
from snakepit_guard.requests import Start

_COMMAND = [b"-m", b"snakepit_bridge", b"worker", b"--run-id"]
_FAILED = 1


class ForkedWorker:
    """A worker that goes on where its parent is; see `fork.Becoming`."""

    def __init__(self, start: Start) -> None:
        """Reads what is asked for.

        Raises:
            OSError: It is another program than a worker of the bridge.
        """
        command, self._run_id = start.args[-5:-1], start.args[-1:]
        if command != _COMMAND:
            raise OSError(0, "a preloaded parent forks workers of the bridge only")
        self._start = start

    def prepare(self) -> None:
        """Takes directory and environment, in the child.

        Raises:
            OSError: The directory is not there, or must not be used.
        """
        os.chdir(self._start.cwd)
        take_environment(self._start.env)
        # As a program finds them that was executed; others are left to the imports.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def begin(self, reported: int) -> None:
        """Is a worker to its end, in the child; returns never."""
        os.close(reported)
        status = _FAILED
        try:
            _reseed()
            run_id = self._run_id[0].decode()
            # From then on the host's death ends its whole group, not this process alone.
            status = run_worker(["--run-id", run_id], arming.outlive_parent)
        except SystemExit as exit:
            status = exit.code if isinstance(exit.code, int) else _FAILED
        except BaseException:  # noqa: BLE001 - as the interpreter itself does
            traceback.print_exc()
        finally:
            _leave(status)


def _reseed() -> None:
    """Each worker has random numbers of its own; Python's own module sees to itself."""
    random = sys.modules.get("numpy.random")
    seed = getattr(random, "seed", None)
    if seed is not None:
        seed()


def _leave(status: int) -> None:
    """Ends this process as the interpreter would, without what is the parent's."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - it ends in any case
        traceback.print_exc()
    finally:
        os._exit(status)
