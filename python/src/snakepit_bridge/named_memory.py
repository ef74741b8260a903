"""A record of the shared memory and the semaphores that `multiprocessing`, loky and joblib
named here.

Plain Python has a process that removes them when those that use them have ended. A
worker that is killed takes it along, since it ends whole: the host, or the next start
of one, removes what this record has. Loaded when a tool uses one of these.
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
    from typing import Any

SHARED_MEMORY = "/dev/shm"
# Of one file, before what it does not need any more is left out.
MOST_BYTES = 64 * 1024


class Kind:
    """A kind of what a tracker removes.

    Attributes:
        module: The one that creates it; beside the tracker if it begins with a dot.
        code: The function there that registers what it has created.
        prefix: Of the name of its file.
        mode: Of its file.
    """

    def __init__(self, module: str, code: str, prefix: str, mode: int) -> None:
        self.module = module
        self.code = code
        self.prefix = prefix
        self.mode = mode


SEMAPHORE = Kind(".synchronize", "SemLock.__init__", "sem.", stat.S_IFREG)
KINDS = {
    "semaphore": SEMAPHORE,
    "shared_memory": Kind(".shared_memory", "SharedMemory.__init__", "", stat.S_IFREG),
    # loky's.
    "semlock": SEMAPHORE,
    # joblib's, for arrays that its processes share. It is made with the first one.
    "folder": Kind(
        "joblib._memmapping_reducer",
        "ArrayMemmapForwardReducer.__call__",
        "",
        stat.S_IFDIR,
    ),
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

    def created(self, name: str, kind: Kind) -> None:
        """Adds one."""
        name = _file_name(name, kind)
        if kind.mode == stat.S_IFDIR and name in self._live:
            return
        facts = os.lstat(f"{SHARED_MEMORY}/{name}")
        if stat.S_IFMT(facts.st_mode) != kind.mode or facts.st_uid != os.geteuid():
            return
        self._live[name] = f"{name} {facts.st_dev} {facts.st_ino}"
        self._write(f"+ {self._live[name]}\n")

    def removed(self, name: str, kind: Kind) -> None:
        """Takes one out: it is removed already, or is to outlive this process."""
        name = _file_name(name, kind)
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


def _file_name(name: str, kind: Kind) -> str:
    """Returns the name of a file of shared memory by that of what is in it.

    Raises:
        OSError: It is elsewhere.
    """
    if kind.mode == stat.S_IFDIR:
        directory, _, name = name.rpartition("/")
        if directory != SHARED_MEMORY:
            raise FileNotFoundError(directory)
    return kind.prefix + name.lstrip("/")


_record: Record | None = None
_trackers: set[str] = set()


def keep_record(
    directory: str, tracker: str = "multiprocessing.resource_tracker"
) -> None:
    """Keeps the record in this directory from now on.

    Args:
        directory: The worker's own.
        tracker: The name of the module of what removes what is left, which is imported.
    """
    global _record
    if _record is None:
        _record = Record(directory)
    elif _record.directory != directory:
        _record.keep_in(directory)
    if tracker not in _trackers:
        _trackers.add(tracker)
        _watch(tracker, _record)


def _watch(name: str, record: Record) -> None:
    """Has a tracker note what it is told."""
    module = sys.modules[name]
    tracker = module._resource_tracker
    register, unregister = tracker.register, tracker.unregister
    package = name.rpartition(".")[0]

    def registered(name: str, rtype: str) -> None:
        # Before the tracker is started, which takes its time.
        kind = KINDS.get("folder" if rtype == "file" else rtype)
        if kind is not None and _has_created(sys._getframe(1), kind, package):
            created = os.path.dirname(name) if rtype == "file" else name
            _try(record.created, created, kind)
        register(name, rtype)

    def unregistered(name: str, rtype: str) -> None:
        kind = KINDS.get(rtype)
        if kind is not None:
            _try(record.removed, name, kind)
        unregister(name, rtype)

    tracker.register = module.register = registered  # type: ignore[attr-defined]
    tracker.unregister = module.unregister = unregistered  # type: ignore[attr-defined]
    if package == "multiprocessing":
        when_imported(_tell_children, "multiprocessing.spawn")


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


def _tell_children(_spawn: str) -> None:
    """Has children that are not forked keep a record, too: they begin with nothing."""
    spawn = sys.modules["multiprocessing.spawn"]
    prepare = spawn.get_preparation_data

    def prepare_with_record(name: str) -> dict[str, object]:
        data: dict[str, object] = prepare(name)
        data["snakepit"] = _InChild()
        return data

    spawn.get_preparation_data = prepare_with_record  # type: ignore[attr-defined]


def _has_created(frame: FrameType, kind: Kind, package: str) -> bool:
    """Returns whether this frame has just created one.

    Who only attaches to shared memory registers it, too: that is a stranger's.
    """
    module = package + kind.module if kind.module.startswith(".") else kind.module
    creator: Any = sys.modules.get(module)
    for attribute in kind.code.split("."):
        creator = getattr(creator, attribute, None)
    if frame.f_code is not getattr(creator, "__code__", None):
        return False
    return bool(frame.f_locals.get("create", True))


def _try(note: Callable[[str, Kind], None], name: str, kind: Kind) -> None:
    try:
        note(name, kind)
    except OSError:
        # As without a record: the tracker removes it, unless it is killed. Or it is a
        # directory elsewhere.
        pass
