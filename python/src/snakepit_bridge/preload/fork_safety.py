"""Whether this process can be forked into workers after its imports."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterable, Mapping

from snakepit_bridge.boot.control_channel import StartFailed
from snakepit_bridge.preload.inherited_files import (
    OpenFile,
    fate,
    flush_all,
    inspect,
    open_again,
    same_descriptions,
    sqlite_connections,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

# As the system shows them, cut after 15 characters.
_GRPC_THREADS = ("grpc_", "event_engine", "resolver-execut", "timer_manager")
_GPU_FILES = ("/dev/nvidia", "/dev/kfd")
# For a child that only exits; if it takes longer, a fork handler is stuck.
_PROBE_LIMIT_S = 5.0
# A message names this many files; one is what a reader needs to find the others.
_NAMED = 3


class Facts:
    """The findings about this process.

    Attributes:
        threads: The names of all threads but the main one.
        files: The descriptors that imports opened.
        databases: The files of SQLite connections, and the variable that holds each.
        modules: The imported modules.
    """

    __slots__ = ("databases", "files", "modules", "threads")

    def __init__(
        self,
        threads: Iterable[str],
        files: Iterable[OpenFile],
        databases: Iterable[tuple[str, str]],
        modules: Mapping[str, ModuleType | object],
    ) -> None:
        self.threads = list(threads)
        self.files = list(files)
        self.databases = list(databases)
        self.modules = modules


def judge(facts: Facts) -> StartFailed | None:
    """Returns what makes a fork unsafe; `None` if nothing does."""
    if _cuda_initialised(facts):
        return StartFailed(
            "FORK_UNSAFE_CUDA",
            "an import has initialised CUDA or another driver of a GPU, which does not "
            "work in a fork; do that in a start-up hook or in the tool",
        )
    grpc = [name for name in facts.threads if name.startswith(_GRPC_THREADS)]
    if grpc:
        return StartFailed(
            "FORK_UNSAFE_GRPC",
            f"an import has initialised gRPC (threads {', '.join(sorted(set(grpc)))}); "
            "make channels and servers in a start-up hook or in the tool",
        )
    if facts.threads:
        return StartFailed(
            "FORK_UNSAFE_THREADS",
            f"an import has started threads ({', '.join(sorted(set(facts.threads)))}), "
            "which do not exist in a fork; start them in a start-up hook",
        )
    connections = _with_fate(facts, "connection")
    if connections:
        return StartFailed(
            "FORK_UNSAFE_CONNECTIONS",
            f"imports have opened what all workers would share: {_list(connections)}; "
            "open connections, pipes and event loops in a start-up hook",
        )
    files = [_said(path, by, "is open in sqlite3") for path, by in facts.databases]
    files += _with_fate(facts, "refuse")
    if files:
        return _unsafe_files(files)
    return None


def look(
    before: frozenset[int], opened_by: Mapping[int, str] | None = None
) -> tuple[Facts, frozenset[int]]:
    """Inspects this process; also returns the descriptors that imports opened.

    Args:
        before: The descriptors that were open before the imports.
        opened_by: The modules during whose import descriptors were opened.
    """
    opened = open_descriptors() - before
    files = inspect(opened, opened_by or {})
    return Facts(_threads(), files, sqlite_connections(), sys.modules), opened


def make_ready(facts: Facts) -> list[list[OpenFile]]:
    """Prepares this process for forks; returns the files that each worker opens again.

    Raises:
        StartFailed: `FORK_UNSAFE_FILES` if one cannot be opened a second time.
    """
    flush_all()
    ctypes.CDLL(None).fflush(None)  # And the buffers of libraries in C.
    groups = same_descriptions(
        file for file in facts.files if fate(file)[0] == "open again"
    )
    for group in groups:
        try:
            # Tried here: a worker could only fail, which a parent need not.
            open_again(group)
        except OSError as error:
            why = f"cannot be opened again ({error.strerror})"
            raise _unsafe_files([_said(group[0].target, "", why)]) from None
    return groups


def _unsafe_files(files: list[str]) -> StartFailed:
    return StartFailed(
        "FORK_UNSAFE_FILES",
        f"imports have opened files that workers cannot share: {_list(files)}; "
        "open them in a start-up hook or in the tool",
    )


def _with_fate(facts: Facts, wanted: str) -> list[str]:
    return [
        _said(file.target, file.owner, why)
        for file in facts.files
        for problem, why in [fate(file)]
        if problem == wanted
    ]


def _said(target: str, owner: str, why: str) -> str:
    return f"{target} (of {owner}) {why}" if owner else f"{target} {why}"


def _list(said: list[str]) -> str:
    more = len(said) - _NAMED
    return "; ".join(said[:_NAMED]) + (f"; and {more} more" if more > 0 else "")


def open_descriptors() -> frozenset[int]:
    """Returns the descriptors that are open now."""
    names = [int(name) for name in os.listdir("/proc/self/fd")]
    # The descriptor used for the listing is closed by now.
    return frozenset(number for number in names if _is_open(number))


def _cuda_initialised(facts: Facts) -> bool:
    if any(file.target.startswith(_GPU_FILES) for file in facts.files):
        return True
    cuda = getattr(facts.modules.get("torch"), "cuda", None)
    initialised = getattr(cuda, "is_initialized", None)
    return bool(initialised is not None and initialised())


def _threads() -> list[str]:
    names = _native_threads()
    # Python threads stay; a thread of a C library may end before a fork.
    if names and len(sys._current_frames()) == 1:
        _fork_once()
        names = _native_threads()
    return names


def _native_threads() -> list[str]:
    names = []
    for thread in os.listdir("/proc/self/task"):
        if int(thread) != os.getpid():
            try:
                with open(f"/proc/self/task/{thread}/comm") as name:
                    names.append(name.read().strip())
            except OSError:
                pass  # The thread has ended.
    return names


def _fork_once() -> None:
    """Forks a child that ends immediately: some libraries end their threads before a fork."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os._exit(0)
    until = time.monotonic() + _PROBE_LIMIT_S
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return
        time.sleep(0.001)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
