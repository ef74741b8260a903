"""Whether this process can be forked into workers after its imports."""

from __future__ import annotations

import os
import signal
import stat
import sys
import time
import warnings
from collections.abc import Iterable, Mapping

from snakepit_bridge.boot.control_channel import StartFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

# As the system shows them, cut after 15 characters.
_GRPC_THREADS = ("grpc_", "event_engine", "resolver-execut", "timer_manager")
_GPU_FILES = ("/dev/nvidia", "/dev/kfd")
# For a child that only exits; if it takes longer, a fork handler is stuck.
_PROBE_LIMIT_S = 5.0


class Facts:
    """The findings about this process.

    Attributes:
        threads: The names of all threads but the main one.
        files: The targets of the descriptors that imports opened.
        sockets: How many of them are sockets.
        modules: The imported modules.
    """

    __slots__ = ("files", "modules", "sockets", "threads")

    def __init__(
        self,
        threads: Iterable[str],
        files: Iterable[str],
        sockets: int,
        modules: Mapping[str, ModuleType | object],
    ) -> None:
        self.threads = list(threads)
        self.files = list(files)
        self.sockets = sockets
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
    if facts.sockets:
        return StartFailed(
            "FORK_UNSAFE_CONNECTIONS",
            f"imports have opened {facts.sockets} sockets, which all workers would "
            "share; open connections and event loops in a start-up hook",
        )
    return None


def look(before: frozenset[int]) -> tuple[Facts, frozenset[int]]:
    """Inspects this process; also returns the descriptors that imports opened.

    Args:
        before: The descriptors that were open before the imports.
    """
    opened = open_descriptors() - before
    files = [_target(descriptor) for descriptor in opened]
    sockets = sum(map(_is_socket, opened))
    return Facts(_threads(), files, sockets, sys.modules), opened


def open_descriptors() -> frozenset[int]:
    """Returns the descriptors that are open now."""
    names = [int(name) for name in os.listdir("/proc/self/fd")]
    # The descriptor used for the listing is closed by now.
    return frozenset(number for number in names if _is_open(number))


def _cuda_initialised(facts: Facts) -> bool:
    if any(name.startswith(_GPU_FILES) for name in facts.files):
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
    """Forks a child that ends at once: some libraries end their threads before a fork."""
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


def _is_socket(descriptor: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:
        return False


def _target(descriptor: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""
