"""Descriptors that imports opened, and what becomes of them in a fork.

A fork copies a descriptor, but not what is behind it: all copies share one offset, one
queue, one lock. What each worker can open for itself is opened again; the rest makes a
fork unsafe.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping

from snakepit_bridge.own_imports import loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypeVar

    _Held = TypeVar("_Held")

    # `connection`: two workers would take what is meant for the other one.
    Fate = Literal["keep", "open again", "connection", "refuse"]

# Linux: /dev/null, zero, full, random and urandom; /dev/tty; terminals.
_DEVICES_WITHOUT_STATE = frozenset({1, 5, *range(136, 144)})
_MMAP_SHARED = "s"
_TMPFILE = getattr(os, "O_TMPFILE", 0) & ~os.O_DIRECTORY
# What a link in /proc, and a file that exists already, cannot be opened with.
_ONLY_ONCE = os.O_NOFOLLOW | os.O_CREAT | os.O_EXCL | os.O_TRUNC | _TMPFILE
# How far from a module's variable a file may be held: handler, stream, buffer, ...
_DEPTH = 8


class OpenFile:
    """One descriptor.

    Attributes:
        number: The descriptor.
        target: As /proc shows it: a path, `socket:[1]`, `anon_inode:[eventpoll]`.
        mode: As in `os.stat_result`.
        device: The major number of a device.
        flags: As of `F_GETFL`.
        locked: Whether this process has locked the file.
        only_mapped: Whether it is open only because it is mapped into memory.
        shared_by_design: Whether processes that are forked are meant to share it.
        owner: The variable that holds it, or the module that opened it.
    """

    __slots__ = (
        "device",
        "flags",
        "locked",
        "mode",
        "number",
        "only_mapped",
        "owner",
        "shared_by_design",
        "target",
    )

    def __init__(
        self,
        number: int,
        target: str,
        mode: int,
        *,
        device: int = 0,
        flags: int = os.O_RDONLY,
        locked: bool = False,
        only_mapped: bool = False,
        shared_by_design: bool = False,
        owner: str = "",
    ) -> None:
        self.number = number
        self.target = target
        self.mode = mode
        self.device = device
        self.flags = flags
        self.locked = locked
        self.only_mapped = only_mapped
        self.shared_by_design = shared_by_design
        self.owner = owner

    @property
    def is_written(self) -> bool:
        """Whether it can be written to."""
        return (self.flags & os.O_ACCMODE) != os.O_RDONLY


def fate(file: OpenFile) -> tuple[Fate, str]:
    """Decides what becomes of a descriptor in a fork, and why in a few words."""
    if file.shared_by_design:
        return "keep", ""
    if file.flags & getattr(os, "O_PATH", 0):
        return "keep", ""
    if stat.S_ISSOCK(file.mode):
        return "connection", "is a socket"
    if stat.S_ISFIFO(file.mode):
        return "connection", "is a pipe"
    if stat.S_ISCHR(file.mode):
        if file.device in _DEVICES_WITHOUT_STATE:
            return "keep", ""
        return "refuse", "is a device"
    if not (
        stat.S_ISREG(file.mode) or stat.S_ISDIR(file.mode) or stat.S_ISBLK(file.mode)
    ):
        # Of these only a pidfd has neither a queue nor a state.
        kept = file.target.endswith("[pidfd]")
        return ("keep", "") if kept else ("connection", "is an event queue")
    if file.locked:
        return "refuse", "is locked, which only one process can be the owner of"
    if file.is_written and not file.flags & os.O_APPEND and not file.only_mapped:
        return "refuse", "is open for writing, and workers would overwrite each other"
    return "open again", ""


def inspect(opened: Iterable[int], opened_by: Mapping[int, str]) -> list[OpenFile]:
    """Returns what is known about descriptors of this process.

    Args:
        opened: The descriptors.
        opened_by: The modules during whose import they were opened.
    """
    mapped = None
    used = None
    by_design = set(_trackers())
    files = []
    for number in sorted(opened):
        try:
            about = os.fstat(number)
            target = os.readlink(f"/proc/self/fd/{number}")
            flags = fcntl.fcntl(number, fcntl.F_GETFL)
            with open(f"/proc/self/fdinfo/{number}") as info:
                locked = "\nlock:" in info.read()
        except OSError:
            continue  # It was closed meanwhile.
        file = OpenFile(
            number,
            target,
            about.st_mode,
            device=os.major(about.st_rdev),
            flags=flags,
            locked=locked,
            shared_by_design=number in by_design,
        )
        if stat.S_ISREG(about.st_mode) and file.is_written:
            mapped = _shared_mappings() if mapped is None else mapped
            used = _numbers_of_file_objects() if used is None else used
            file.only_mapped = about.st_ino in mapped and number not in used
        if fate(file)[0] in ("refuse", "connection"):
            file.owner = _variable_of(number) or opened_by.get(number, "")
        files.append(file)
    return files


def sqlite_connections() -> list[tuple[str, str]]:
    """Returns the databases in files that are open in `sqlite3`, and who holds each.

    SQLite forbids to take a connection into a fork: its locks are those of the process
    that opened it. One in memory is a copy.
    """
    sqlite3 = loaded("sqlite3")
    connections = getattr(sqlite3, "Connection", None)
    if sqlite3 is None or connections is None:
        return []
    databases = []
    for held in _objects_of(connections):
        with contextlib.suppress(sqlite3.Error):  # It is closed.
            cursor = sqlite3.Cursor(held)
            cursor.row_factory = None
            rows = cursor.execute("PRAGMA database_list").fetchall()
            databases += [(path, _holder_of(held)) for _, _, path in rows if path]
    return databases


def same_descriptions(files: Iterable[OpenFile]) -> list[list[OpenFile]]:
    """Groups descriptors that are copies of one another (`os.dup`): those share an
    offset on purpose, in each worker too.
    """
    groups: list[list[OpenFile]] = []
    for file in files:
        for group in groups:
            if _is_copy(group[0], file):
                group.append(file)
                break
        else:
            groups.append([file])
    return groups


def open_again(group: list[OpenFile]) -> None:
    """Gives this process its own offset in a file, which is where it was.

    Raises:
        OSError: It cannot be opened a second time.
    """
    number, flags = group[0].number, group[0].flags & ~_ONLY_ONCE
    # By the descriptor: the name may be gone, or be that of another file.
    own = os.open(f"/proc/self/fd/{number}", flags | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        # Before the first one is replaced; directories have an offset, too.
        os.lseek(own, os.lseek(number, 0, os.SEEK_CUR), os.SEEK_SET)
        for file in group:
            os.dup2(own, file.number, inheritable=os.get_inheritable(file.number))
    finally:
        os.close(own)


def flush_all() -> None:
    """Writes what imports left in buffers, which each worker would write once more."""
    kinds = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)
    for stream in gc.get_objects():
        if issubclass(type(stream), kinds):
            # It may be closed, or its disk full.
            with contextlib.suppress(Exception):
                stream.flush()


def _is_copy(one: OpenFile, other: OpenFile) -> bool:
    if one.target != other.target or one.flags != other.flags:
        return False
    if not stat.S_ISREG(one.mode):
        return False
    offset = os.lseek(one.number, 0, os.SEEK_CUR)
    if os.lseek(other.number, 0, os.SEEK_CUR) != offset:
        return False
    try:
        os.lseek(one.number, offset + 1, os.SEEK_SET)
        return os.lseek(other.number, 0, os.SEEK_CUR) == offset + 1
    finally:
        os.lseek(one.number, offset, os.SEEK_SET)


def _trackers() -> Iterator[int]:
    """Pipes to resource trackers (of multiprocessing, of loky), which forks share."""
    for name, module in list(sys.modules.items()):
        if name.endswith("resource_tracker"):
            number = getattr(getattr(module, "_resource_tracker", None), "_fd", None)
            if isinstance(number, int):
                yield number


def _shared_mappings() -> frozenset[int]:
    """The inodes of files that are mapped into memory, and shared."""
    mappings = set()
    with open("/proc/self/maps") as maps:
        for line in maps:
            _range, permissions, _offset, _device, inode, *_path = line.split()
            if permissions.endswith(_MMAP_SHARED) and inode != "0":
                mappings.add(int(inode))
    return frozenset(mappings)


def _numbers_of_file_objects() -> frozenset[int]:
    return frozenset(
        file.fileno() for file in _objects_of(io.FileIO) if not file.closed
    )


def _objects_of(kind: type[_Held]) -> list[_Held]:
    # By `type`, since an object's `__class__` may be a property, which may fail.
    return [held for held in gc.get_objects() if issubclass(type(held), kind)]


def _variable_of(number: int) -> str:
    sockets = getattr(loaded("_socket"), "socket", None)
    held: list[object] = list(_objects_of(io.FileIO))
    held += _objects_of(sockets) if sockets is not None else []
    for each in held:
        try:
            if each.fileno() == number:  # type: ignore[attr-defined]
                return _holder_of(each)
        except (OSError, ValueError):
            pass  # It is closed.
    return ""


def _holder_of(held: object) -> str:
    """Returns the variable of a module that holds an object: `helpers.LOG`; or ''."""
    modules = {
        id(vars(module)): name
        for name, module in list(sys.modules.items())
        if type(getattr(module, "__dict__", None)) is dict
    }
    frontier: list[object] = [held]
    visited = {id(held), id(frontier), id(modules)}
    for _ in range(_DEPTH):
        referrers = gc.get_referrers(*frontier)
        # Also the local variables of this search refer to what it found.
        visited |= {id(frontier), id(referrers)}
        wanted = {id(each) for each in frontier}
        holder = [each for each in referrers if id(each) not in visited]
        for each in holder:
            name = modules.get(id(each))
            if name is not None and isinstance(each, dict):
                for variable, value in each.items():
                    if id(value) in wanted:
                        return f"{name}.{variable}"
        frontier = [each for each in holder if type(each).__name__ != "frame"]
        visited |= {id(each) for each in frontier}
        if not frontier:
            break
    return ""
