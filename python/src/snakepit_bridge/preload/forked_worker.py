"""A forked child of a preloaded parent becomes a worker."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import traceback
import weakref

from snakepit_bridge.boot.worker import run_worker
from snakepit_bridge.forking import arming
from snakepit_bridge.forking.requests import Start
from snakepit_bridge.preload.environment import take_environment
from snakepit_bridge.preload.inherited_files import open_again

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.preload.inherited_files import OpenFile

_COMMAND = [b"-m", b"snakepit_bridge", b"worker", b"--run-id"]
_FAILED = 1


class ForkedWorker:
    """A worker that continues from its parent's state; see `fork.Becoming`."""

    def __init__(self, start: Start, files: list[list[OpenFile]]) -> None:
        """Checks the request.

        Args:
            start: The request.
            files: What imports opened; those of one list are copies of one another.

        Raises:
            OSError: It is not for a worker of the bridge.
        """
        command, self._run_id = start.args[-5:-1], start.args[-1:]
        if command != _COMMAND:
            raise OSError(0, "a preloaded parent forks only workers of the bridge")
        self._start = start
        self._files = files

    def prepare(self) -> None:
        """Sets directory, environment and files, in the child.

        Raises:
            OSError: The directory does not exist, or may not be used; or a file of the
                imports may not be opened any more.
        """
        for group in self._files:
            open_again(group)
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
            _forget_exit_handlers()
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


def _forget_exit_handlers() -> None:
    """Leaves to the parent what its imports registered for its exit: a worker that did
    it too would remove the directories, and close the sessions, of all the others.

    What the worker registers from now on runs when it leaves.
    """
    atexit._clear()
    directory = getattr(sys.modules.get("tempfile"), "TemporaryDirectory", None)
    remove = getattr(directory, "_cleanup", None)
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        finalizer.atexit = False
        # Not even if the tool drops it: the directory is the parent's. Other finalizers
        # stay, because caches depend on them.
        found = finalizer.peek()
        if found is not None and found[1] == remove:
            finalizer.detach()
    # Otherwise, the worker's own finalizers would not run at its exit.
    weakref.finalize._registered_with_atexit = False  # type: ignore[attr-defined]
    # These are about the process in which they run, and the worker uses their modules.
    logging = sys.modules.get("logging")
    if logging is not None:
        atexit.register(logging.shutdown)
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        # As in a child of multiprocessing: the parent's children are not this one's.
        util._finalizer_registry.clear()
        sys.modules["multiprocessing.process"]._children = set()  # type: ignore[attr-defined]
        util._run_after_forkers()
        atexit.register(util._exit_function)


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
