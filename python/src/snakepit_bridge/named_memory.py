"""A record of the shared memory and the semaphores that `multiprocessing` named here.

Plain Python has a process that removes them when those that use them have ended. A
worker that is killed takes it along, since it ends whole: the host, or the next start
of one, removes what this record has. Loaded when a tool uses `multiprocessing`.
"""

from __future__ import annotations

import _thread
import os
import stat
import sys

from snakepit_bridge.when_imported import when_imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

__all__ = ["keep_record"]

SHARED_MEMORY = "/dev/shm"
# Of one file, before what it does not need any more is left out.
MOST_BYTES = 64 * 1024
# The class that creates one, and the prefix of its file.
CREATORS = {
    "shared_memory": ("multiprocessing.shared_memory", "SharedMemory", ""),
    "semaphore": ("multiprocessing.synchronize", "SemLock", "sem."),
}


class Record:
    """The names of one process, in a file of its own in the directory of its worker.

    A line is `+ NAME DEVICE INODE` or `- NAME DEVICE INODE`: only the very file that
    was created here may be removed.

    Attributes:
        directory: the worker's own, which the host reads when the worker has ended.
    """

    def __init__(self, directory: str) -> None:
        """Begins one.

        Args:
            directory: The worker's own, which the host reads when the worker has ended.
        """
        self._live: dict[str, str] = {}
        self._before_fork: dict[str, str] = {}
        self.keep_in(directory)
        os.register_at_fork(after_in_child=self._leave_to_parent)

    def keep_in(self, directory: str) -> None:
        """Begins anew: this process has become a worker with a directory of its own."""
        self.directory = directory
        self._leave_to_parent()

    def _leave_to_parent(self) -> None:
        self._before_fork = {**self._before_fork, **self._live}
        self._live = {}

    def created(self, name: str, prefix: str) -> None:
        """Adds one."""
        name = prefix + name.lstrip("/")
        prefixes = os.lstat(f"{SHARED_MEMORY}/{name}")
        if not stat.S_ISREG(prefixes.st_mode) or prefixes.st_uid != os.geteuid():
            return
        self._live[name] = f"{name} {prefixes.st_dev} {prefixes.st_ino}"
        self._write(f"+ {self._live[name]}\n")

    def removed(self, name: str, prefix: str) -> None:
        """Takes one out: it is removed already, or is to outlive this process."""
        name = prefix + name.lstrip("/")
        # Otherwise, another process of this worker may have created it.
        known = self._live.pop(name, None) or self._before_fork.pop(name, None)
        self._write(f"- {known or f'{name} * *'}\n")

    # Without a lock: a cancel that is raised in here would leave it held.
    def _write(self, line: str) -> None:
        path = f"{self.directory}/names-{os.getpid()}"
        size = _append(path, line)
        if size == 0 and line[0] == "+":
            # Something may have removed the file.
            _append(path, self._text())
        if size > MOST_BYTES and 2 * len(self._text()) < MOST_BYTES:
            self._shorten(path)

    def _shorten(self, path: str) -> None:
        text = self._text()
        shorter = f"{path}~{_thread.get_ident()}"
        with open(shorter, "w") as file:
            file.write(text)
        os.replace(shorter, path)
        # Another thread may have written to the longer one meanwhile.
        if self._text() != text:
            _append(path, self._text())

    def _text(self) -> str:
        return "".join(f"+ {each}\n" for each in list(self._live.values()))


def _append(path: str, text: str) -> int:
    """Appends to a record; returns how long it was."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    # Not kept open: a fork would share it.
    file = os.open(path, flags, 0o600)
    try:
        size = os.fstat(file).st_size
        os.write(file, text.encode())
        return size
    finally:
        os.close(file)


_record: Record | None = None


def keep_record(directory: str) -> None:
    """Keeps the record in this directory from now on.

    Args:
        directory: The worker's own.
    """
    global _record
    if _record is not None:
        _record.keep_in(directory)
        return
    _record = record = Record(directory)
    module = sys.modules["multiprocessing.resource_tracker"]
    tracker = module._resource_tracker
    register, unregister = tracker.register, tracker.unregister

    def registered(name: str, rtype: str) -> None:
        # Before the tracker is started, which takes its time.
        prefix = _created_by(sys._getframe(1), rtype)
        if prefix is not None:
            _try(record.created, name, prefix)
        register(name, rtype)

    def unregistered(name: str, rtype: str) -> None:
        if rtype in CREATORS:
            _try(record.removed, name, CREATORS[rtype][2])
        unregister(name, rtype)

    tracker.register = module.register = registered  # type: ignore[attr-defined]
    tracker.unregister = module.unregister = unregistered  # type: ignore[attr-defined]
    when_imported("multiprocessing.spawn", _tell_children)


class _InChild:
    """Keeps a record in the process that unpickles it, if that can import the bridge."""

    def __reduce__(self) -> tuple[object, ...]:
        directory = "" if _record is None else _record.directory
        return exec, (f"directory = {directory!r}\n{_IN_CHILD}", {})


_IN_CHILD = """\
try:
    import multiprocessing.resource_tracker
    from snakepit_bridge.named_memory import keep_record
    keep_record(directory)
except Exception:
    pass
"""


def _tell_children() -> None:
    """Has children that are not forked keep a record, too: they begin with nothing."""
    spawn = sys.modules["multiprocessing.spawn"]
    prepare = spawn.get_preparation_data

    def prepare_with_record(name: str) -> dict[str, object]:
        data: dict[str, object] = prepare(name)
        data["snakepit"] = _InChild()
        return data

    spawn.get_preparation_data = prepare_with_record  # type: ignore[attr-defined]


def _created_by(frame: FrameType, rtype: str) -> str | None:
    """Returns the prefix of the file if this frame has just created it.

    Who only attaches to shared memory registers it, too: that is a stranger's.
    """
    module, name, prefix = CREATORS.get(rtype, ("", "", ""))
    creator = getattr(sys.modules.get(module), name, None)
    if creator is None or frame.f_code is not creator.__init__.__code__:
        return None
    is_created = rtype == "semaphore" or bool(frame.f_locals.get("create"))
    return prefix if is_created else None


def _try(note: Callable[[str, str], None], name: str, prefix: str) -> None:
    try:
        note(name, prefix)
    except OSError:
        # As without a record: the tracker removes it, unless it is killed.
        pass
