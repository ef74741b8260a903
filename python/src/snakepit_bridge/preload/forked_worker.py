"""A forked child of a preloaded parent becomes a worker."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import traceback

from snakepit_bridge.boot.worker import run_worker
from snakepit_bridge.forking import arming
from snakepit_bridge.forking.requests import Start
from snakepit_bridge.preload.environment import take_environment

_COMMAND = [b"-m", b"snakepit_bridge", b"worker", b"--run-id"]
_FAILED = 1


class ForkedWorker:
    """A worker that continues from its parent's state; see `fork.Becoming`."""

    def __init__(self, start: Start) -> None:
        """Checks the request.

        Raises:
            OSError: It is not for a worker of the bridge.
        """
        command, self._run_id = start.args[-5:-1], start.args[-1:]
        if command != _COMMAND:
            raise OSError(0, "a preloaded parent forks only workers of the bridge")
        self._start = start

    def prepare(self) -> None:
        """Sets directory and environment, in the child.

        Raises:
            OSError: The directory does not exist, or may not be used.
        """
        os.chdir(self._start.cwd)
        take_environment(self._start.env)
        # As in a program that was just executed; other signals are left to the imports.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def begin(self, reported: int) -> None:
        """Runs the worker, in the child; never returns."""
        os.close(reported)
        status = _FAILED
        try:
            _reseed()
            run_id = self._run_id[0].decode()
            # Then the host's death ends its whole group, and the parent's death ends nothing.
            status = run_worker(["--run-id", run_id], arming.outlive_parent)
        except SystemExit as exit:
            status = exit.code if isinstance(exit.code, int) else _FAILED
        except BaseException:  # noqa: BLE001 - as the interpreter itself does
            traceback.print_exc()
        finally:
            _leave(status)


def _reseed() -> None:
    """Gives each worker its own random numbers; Python's `random` does so by itself."""
    random = sys.modules.get("numpy.random")
    seed = getattr(random, "seed", None)
    if seed is not None:
        seed()


def _leave(status: int) -> None:
    """Ends this process as the interpreter would, but does not free the parent's
    objects.
    """
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - it exits in any case
        traceback.print_exc()
    finally:
        os._exit(status)
