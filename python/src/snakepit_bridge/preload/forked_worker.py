"""A forked child of a preloaded parent becomes a worker.

`/proc/PID/environ` shows the memory in which the system put the environment when the
program was executed, and a forked process has its parent's. The descendants of a worker
are found by that file, so the memory is overwritten.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
import threading
import traceback
import weakref
from collections.abc import Mapping

from snakepit_bridge.boot.first_steps import run_worker
from snakepit_bridge.forking.forks import outlive_parent
from snakepit_bridge.forking.protocol import Start
from snakepit_bridge.own_imports import loaded
from snakepit_bridge.preload.inherited_files import open_again

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.preload.inherited_files import OpenFile


# The variables that others look for come first, in case there is no room for all.
_FIRST = (b"SNAKEPIT_RUN", b"SNAKEPIT_WORKER")
# Fields of /proc/self/stat, counted after the name of the program.
_ENV_START, _ENV_END = 47, 48


def take_environment(env: Mapping[bytes, bytes]) -> None:
    """Makes this the environment of this process, and shows it in /proc."""
    os.environb.clear()
    os.environb.update(env)
    try:
        _show(env)
    except (OSError, ValueError, IndexError):
        pass  # The run is the same, and the worker is found by its record.


def environment_block(env: Mapping[bytes, bytes], room: int) -> bytes:
    """Returns an environment as it is in memory, cut or padded to the room there is."""
    names = [name for name in _FIRST if name in env]
    names += [name for name in env if name not in _FIRST]
    text = b""
    for name in names:
        entry = name + b"=" + env[name] + b"\0"
        if len(text) + len(entry) <= room:
            text += entry
    return text.ljust(room, b"\0")


def _show(env: Mapping[bytes, bytes]) -> None:
    with open("/proc/self/stat", "rb") as file:
        text = file.read()
    fields = text[text.rfind(b")") + 2 :].split()
    start, end = int(fields[_ENV_START]), int(fields[_ENV_END])
    # Nothing points into it any more, since every variable was just set again.
    if 0 < start < end:
        ctypes.memmove(start, environment_block(env, end - start), end - start)


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
            status = run_worker(["--run-id", run_id], outlive_parent)
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
    directory = getattr(loaded("tempfile"), "TemporaryDirectory", None)
    remove = getattr(directory, "_cleanup", None)
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        finalizer.atexit = False
        # Not even if the tool drops it: the directory is the parent's. Other finalizers
        # stay, because caches depend on them.
        handlers = finalizer.peek()
        if handlers is not None and handlers[1] == remove:
            finalizer.detach()
    # Otherwise, the worker's own finalizers would not run at its exit.
    weakref.finalize._registered_with_atexit = False  # type: ignore[attr-defined]
    # These are about the process in which they run, and the worker uses their modules.
    logging = loaded("logging")
    if logging is not None:
        atexit.register(logging.shutdown)
    util = loaded("multiprocessing.util")
    if util is not None:
        # As in a child of multiprocessing: the parent's children are not this one's.
        util._finalizer_registry.clear()
        loaded("multiprocessing.process")._children = set()
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
