"""The bridge's own imports: no directory of the tools, nothing that the tools have done
to the search path, and no lack of descriptors changes what they find.

Most of what a worker may need is imported after it is ready (docs/decisions/0041). By then
the directory of the tools is in front of `sys.path`, and a `token.py` in it would be found
instead of the standard module, as in any program. So a finder that comes before all others
looks elsewhere while a module of the bridge is executed, and for everything that is
imported by it in turn, in that thread. Code of the tools gets its neighbour, before and
after: a standard module that the bridge loaded meanwhile is set aside if a directory of the
tools has one of the same name.

Importing takes a descriptor at a time. Two are kept for when a tool has used up the rest.
They are free in a thread whose table of descriptors is its own, where the system has that;
otherwise for as long as one file is opened and read, in which other threads may take them.
"""

from __future__ import annotations

import _imp
import _socket
import _thread
import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.machinery import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, TypeVar

    Found = TypeVar("Found")

_PACKAGE = f"{__package__}."

# What answers may need and a worker does not import before it is ready: it does so as soon
# as it has nothing else to do, a step at a time, what the commonest answers need first. An
# order and a split in which no step takes much longer than a small call. A preloaded
# parent imports all of it before it forks.
LATE = (
    "enum",
    "re",
    "typing",
    "calendar",
    "tokenize",
    "traceback",
    "snakepit_bridge.failures.python_error",
    "snakepit_bridge.calls.cancel.cancel_reason",
    "snakepit_bridge.calls.context.input_stream",
    "snakepit_bridge.bridge.full_call",
    "logging",
    "snakepit_bridge.bridge.log_forwarding",
    "snakepit_bridge.calls.memory.shared_memory",
    "snakepit_bridge.calls.memory.segments",
    "snakepit_bridge.calls.run.credit",
    "snakepit_bridge.calls.context.host_calls",
    "snakepit_bridge.calls.context.progress_reports",
    "snakepit_bridge.tools.stream_result",
    "snakepit_bridge.values.builtin_form",
    "snakepit_bridge.values.refusals",
    "json",
    "difflib",
    "snakepit_bridge.values.unwritable",
    "snakepit_bridge.values.reference",
    "snakepit_bridge.values.tensors",
    "snakepit_bridge.values.tables",
    "snakepit_bridge.values.json_forms",
    "snakepit_bridge.tools.annotations.moment_texts",
    "snakepit_bridge.values.own_types",
    "snakepit_bridge.calls.context.batch_call",
    # What Python itself imports to write a traceback.
    "ast",
    "unicodedata",
    "inspect",
    "snakepit_bridge.tools.batch",
    "snakepit_bridge.tools.annotations.handles",
    "snakepit_bridge.bridge.describe",
    "snakepit_bridge.bridge.framed_transport.sideband",
    # To copy large bytes.
    "ctypes",
    "snakepit_bridge.threads.threads_left",
    "snakepit_bridge.named_memory",
)


class standard:
    """A module of Python's, whatever the tools have of that name, imported when something of
    it is used.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        module = _kept.get(self._name)
        if module is None:
            with isolated(imports=True):
                module = _kept[self._name] = import_module(self._name)
        return getattr(module, attribute)


# What the bridge uses late of Python's: each import makes every start slower.
# ruff: noqa: PLC0414 - so are the names exported
if TYPE_CHECKING:
    import ast as ast
    import ctypes as ctypes
    import difflib as difflib
    import inspect as inspect
    import json as json
    import re as re
    import traceback as traceback
    import typing as typing
else:
    ast, ctypes, difflib = map(standard, ("ast", "ctypes", "difflib"))
    inspect, json, re = map(standard, ("inspect", "json", "re"))
    traceback, typing = map(standard, ("traceback", "typing"))


def loaded(name: str) -> Any:
    """Returns a module of Python's if anything has imported it; None otherwise."""
    aside = _set_aside.get(name.partition(".")[0])
    module = (aside and aside.get(name)) or sys.modules.get(name)
    return module if module is not None and _is_pythons(module) else None


def import_late() -> Iterator[bool]:
    """Imports `LATE`, one module with each step; a step without descriptors does nothing,
    and yields False.

    An import that fails half-way fails for a thread that waits for it, too.
    """
    global _is_complete
    if _is_complete:
        return
    for name in LATE:
        while not _spare.has_more():
            yield False
        # One that cannot be imported is reported by what needs it.
        with suppress(Exception), isolated(imports=True):
            import_module(name)
        yield True
    _is_complete = True


# ------------------------------------------------------------------------ isolation

# The loop of asynchronous tools is the worker's, and looks for its own package all the time:
# a neighbour of this name is never found.
_SHARED = frozenset({"asyncio"})

_kept: dict[str, ModuleType] = {}
_lock = _thread.RLock()
# How deep in its own imports a thread is.
_depths: dict[int, int] = {}
# Where the bridge looks: for what is Python's, and for the rest.
_python_path: list[str] = []
_own_path: list[str] = []
# By the name of a module and with those in it, all of which are in `sys.modules` only
# while the bridge imports, or only while it does not.
_set_aside: dict[str, dict[str, ModuleType]] = {}
_of_the_tools: dict[str, dict[str, ModuleType]] = {}
# What of Python's the bridge has imported since it is isolated.
_imported: set[str] = set()
_new: list[str] = []
# What was looked for on this path.
_seen_path: list[str] = []
# Modules that are known to be Python's.
_known: dict[str, object] = {}
_is_complete = False


def isolate() -> None:
    """Isolates the bridge's imports from now on; before any code of the tools runs.

    The search path is the bridge's, except for the directory of the program.
    """
    if _own_path:
        return
    library = os.path.dirname(getattr(os, "__file__", ""))
    program = _program_directory()
    for entry in sys.path:
        name = os.path.basename(entry)
        is_pythons = entry == library or (
            name == "lib-dynload"
            or (name.startswith("python") and name.endswith(".zip"))
        )
        if is_pythons:
            _python_path.append(entry)
        if is_pythons or entry not in ("", program):
            _own_path.append(entry)
    os.register_at_fork(after_in_child=_forked)
    sys.meta_path.insert(0, _Finder())


def keep_descriptors() -> None:
    """Keeps descriptors from now on."""
    _spare.is_wanted = True
    _spare.acquire()


def spare_descriptors() -> _Spare:
    """Returns a context manager: while it is entered, there is room for two descriptors."""
    return _spare


def make_way() -> None:
    """Sets aside what the tools have another module for, after a change of `sys.path`."""
    if _imported:
        with isolated(imports=True):
            pass


class isolated:
    """While it is entered, this thread imports as the bridge does.

    Args:
        imports: whether something of the bridge is imported; otherwise, code of Python's
            is run that may import what it did before.
    """

    def __init__(self, *, imports: bool = False) -> None:
        self._is_needed = bool(_own_path) and (
            imports or not _is_complete or bool(_set_aside)
        )

    def __enter__(self) -> None:
        if not self._is_needed:
            return
        with _lock:
            ident = _thread.get_ident()
            if not _depths:
                for name, modules in _set_aside.items():
                    _hide(name)
                    sys.modules.update(modules)
            if ident not in _depths:
                _hide_others()
            _depths[ident] = _depths.get(ident, 0) + 1

    def __exit__(self, *_: object) -> None:
        if not self._is_needed:
            return
        with _lock:
            ident = _thread.get_ident()
            _depths[ident] -= 1
            if _depths[ident] == 0:
                del _depths[ident]
            if not _depths:
                for name in _to_look_for():
                    is_theirs = name in _of_the_tools or _tools_have(name)
                    if is_theirs and name not in _SHARED:
                        _set_aside.setdefault(name, {})
                for name, modules in _set_aside.items():
                    modules.update(_taken(name))
                for name, modules in _of_the_tools.items():
                    if name not in _SHARED or name not in sys.modules:
                        sys.modules.update(modules)
                _of_the_tools.clear()
                # A tool may have had the last one, and has given it back since.
                _spare.acquire()


def _to_look_for() -> Sequence[str]:
    """Returns what the tools may have another module for, and was not looked for since."""
    if sys.path != _seen_path:
        _seen_path[:] = sys.path
        return list(_imported)
    new = list(_new)
    _new.clear()
    return new


def _hide_others() -> None:
    """Hides the modules of the tools that have names of Python's."""
    modules = sys.modules
    for name in sys.stdlib_module_names & modules.keys():
        module = modules.get(name)
        if module is _known.get(name) or name in _set_aside:
            continue
        if _is_pythons(module):
            _known[name] = module
        else:
            _hide(name)


def is_standard(spec: ModuleSpec) -> bool:
    """Returns whether a module was found where Python's own are."""
    if not spec.has_location:
        return spec.origin in ("built-in", "frozen")
    directory = os.path.dirname(spec.origin or "")
    if spec.submodule_search_locations is not None:
        directory = os.path.dirname(directory)
    for _ in range(spec.name.count(".")):
        directory = os.path.dirname(directory)
    return not _python_path or directory in _python_path


def _is_pythons(module: object) -> bool:
    # Not by an attribute: a module that is loaded lazily would be loaded.
    try:
        spec = object.__getattribute__(module, "__dict__").get("__spec__")
        return spec is None or is_standard(spec)
    except Exception:  # noqa: BLE001 - `sys.modules` may hold anything
        return True


def _hide(name: str) -> None:
    modules = _taken(name)
    if modules:
        _of_the_tools[name] = modules


def _taken(name: str) -> dict[str, ModuleType]:
    """Takes a module, and those in it, out of `sys.modules`."""
    if name not in sys.modules:
        return {}
    inside = f"{name}."
    names = [each for each in sys.modules if each == name or each.startswith(inside)]
    return {each: sys.modules.pop(each) for each in names}


def _tools_have(name: str) -> bool:
    """Returns whether a program would find another module first."""
    for entry in sys.path:
        if entry in _python_path:
            return False
        # A finder of the tools may raise, and there may be no descriptor.
        with suppress(Exception):
            spec = _with_room(PathFinder.find_spec, name, [entry])
            if spec is not None and spec.loader is not None:
                return True
    return False


def _program_directory() -> str | None:
    flags: Any = sys.flags
    if flags.isolated or getattr(flags, "safe_path", False):
        return None
    try:
        return os.getcwd()
    except OSError:
        return None


class _Finder:
    """Finds what the bridge imports; leaves everything else to the other finders."""

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        is_isolated = _thread.get_ident() in _depths
        if path is not None:
            if is_isolated or name.startswith(_PACKAGE):
                return _find(name, path, target)
            return None
        if not is_isolated or name in sys.builtin_module_names:
            return None
        if name not in sys.stdlib_module_names:
            # What is only where the tools are is found there.
            return _find(name, _own_path)
        if _imp.is_frozen(name):
            return None
        spec = _find(name, _python_path) or _find(name, _own_path)
        if spec is None:
            # Python tries some modules of other systems.
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        _imported.add(name)
        _new.append(name)
        return spec


def _find(
    name: str, path: Sequence[str], target: ModuleType | None = None
) -> ModuleSpec | None:
    spec = _with_room(PathFinder.find_spec, name, path, target)
    if spec is not None and spec.loader is not None:
        spec.loader = _Isolated(spec.loader)  # type: ignore[assignment]
    return spec


class _Isolated:
    """Loads a module of the bridge, or one that such a module imports."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        # For who finds the module and does not import it.
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """See `importlib.abc.Loader`."""
        # It may import, and what it waits for may be this thread's.
        return _with_spare(self._loader.create_module, spec)

    def exec_module(self, module: ModuleType) -> None:
        """See `importlib.abc.Loader`."""
        # From here on the module is as if nothing had been between.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        get_code = getattr(self._loader, "get_code", None)
        with isolated(imports=True):
            # Read apart from being run, which must not happen twice.
            code = get_code and _with_room(get_code, module.__name__)
            if code is None:
                self._loader.exec_module(module)
            else:
                exec(code, module.__dict__)  # noqa: S102 - as its loader does


def _with_room(act: Callable[..., Found], *arguments: object) -> Found:
    """Returns what `act` does, which opens one file at a time; with a spare descriptor if
    there is no other."""
    with suppress(OSError, ImportError):
        return act(*arguments)
    for outcome in _in_own_table(act, *arguments):
        return outcome
    return _with_spare(act, *arguments)


def _with_spare(act: Callable[..., Found], *arguments: object) -> Found:
    # The error of a native library does not say that there was no descriptor. One with
    # another cause is raised by the second attempt, too.
    with suppress(OSError, ImportError):
        return act(*arguments)
    with _spare:
        return act(*arguments)


# Source: sched.h of Linux.
_CLONE_FILES = 0x400


def _in_own_table(act: Callable[..., Found], *arguments: object) -> list[Found]:
    """Returns what `act` does in a thread that alone sees the spare descriptors closed:
    no other can take them. Returns nothing where that cannot be, or `act` fails.

    Source: unshare(2). Older versions of Python do not have it, and containers may refuse
    it.
    """
    outcome: list[Found] = []
    unshare: Any = getattr(os, "unshare", None)
    if unshare is None:
        return outcome
    over = _thread.allocate_lock()
    over.acquire()

    def run() -> None:
        try:
            # What fails is tried in another way.
            with suppress(BaseException):
                unshare(_CLONE_FILES)
                for number in _spare.numbers():
                    os.close(number)
                outcome.append(act(*arguments))
        finally:
            over.release()

    try:
        _thread.start_new_thread(run, ())
    except RuntimeError:
        return outcome
    over.acquire()
    return outcome


class _Spare:
    """Descriptors for nothing, which make room for others while this is entered."""

    COUNT = 2

    def __init__(self) -> None:
        self.is_wanted = False
        self.users = 0
        self._kept: list[tuple[int, int]] = []

    def __enter__(self) -> None:
        with _lock:
            self.users += 1
            self._release()

    def __exit__(self, *_: object) -> None:
        with _lock:
            self.users = max(0, self.users - 1)
            self.acquire()

    def acquire(self) -> None:
        """Takes them, as far as there are any."""
        if self.users > 0 or not self.is_wanted:
            return
        with suppress(OSError):
            while len(self._kept) < self.COUNT:
                descriptor = _socket.socket(_socket.AF_UNIX).detach()
                self._kept.append((descriptor, os.fstat(descriptor).st_ino))

    def numbers(self) -> list[int]:
        """Returns those that are kept."""
        return [descriptor for descriptor, _ in self._kept]

    def has_more(self) -> bool:
        """Returns whether as many are left beside these."""
        more = []
        try:
            more += [_socket.socket(_socket.AF_UNIX) for _ in range(self.COUNT)]
        except OSError:
            return False
        finally:
            for each in more:
                each.close()
        return True

    def _release(self) -> None:
        kept, self._kept = self._kept, []
        for descriptor, inode in kept:
            try:
                if os.fstat(descriptor).st_ino == inode:
                    os.close(descriptor)
                    continue
            except OSError:
                pass
            # Tools closed it, and may have its number. They may have closed others, whose
            # numbers must not be taken before that is noticed.
            self.is_wanted = False


_spare = _Spare()


def _forked() -> None:
    """In a child, no other thread imports any more."""
    global _lock
    _lock = _thread.RLock()
    ident = _thread.get_ident()
    for other in [each for each in _depths if each != ident]:
        del _depths[other]
    _spare.users = 0
