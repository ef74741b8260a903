"""The user's module: imported, by name or from a file."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
import time
from importlib.machinery import PathFinder
from types import ModuleType

from snakepit_bridge.own_imports import ast, make_way

# This module is loaded before any tool, in seconds since the epoch.
BEGUN_S = time.time()

# By path: the files that a preloaded parent has loaded, so that its workers do not load
# them again.
_kept: dict[str, ModuleType] = {}
# By path, in the order of their loading.
_loaded: dict[str, _Neighbours] = {}


# Whose modules are not neighbours of one another, but are there for all.
_STANDARD = os.path.dirname(os.__file__)
_INSTALLED = ("site-packages", "dist-packages")
_SUFFIXES = tuple(importlib.machinery.all_suffixes())
# Python's error about `from .other import x` in a file that is loaded alone.
_NO_PACKAGE = "attempted relative import with no known parent package"


class NoSource(ImportError):
    """There is nothing to import at the given place."""


def load_module(name: str) -> ModuleType:
    """Imports a module by its name.

    Raises whatever the module raises.

    Raises:
        NoSource: there is no such module; or it, or a file that was loaded earlier, gets
            the neighbours of another one.
    """
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise NoSource(
            f"{error}; install it, or set the adapter's tools.path or toolPath to "
            "the directory that it is in"
        ) from error
    file = _file_of(module)
    if file is not None and "." not in name and not hasattr(module, "__path__"):
        directory = os.path.dirname(os.path.abspath(file))
        if directory != _STANDARD and not directory.endswith(_INSTALLED):
            _add(_Neighbours(file, [directory]))
    return module


def keep_file(path: str) -> None:
    """Imports a file for every process that is forked from this one."""
    _kept[os.path.abspath(path)] = load_file(path)


def load_file(path: str) -> ModuleType:
    """Imports a file with its directory in front of `sys.path`, like a script: of a link,
    the directory that it leads to, and then its own.

    A file with the name of a module of the standard library must not hide that module:
    then the directory comes last.

    Raises whatever the file raises.

    Raises:
        NoSource: there is no such file, or it is not Python source; or it, or a file
            that was loaded earlier, gets the neighbours of another one.
    """
    path = os.path.abspath(path)
    if path in _kept:
        return _kept[path]
    if os.path.isdir(path):
        raise NoSource(
            f"{path} is a directory; name a .py file in it, or a module and its path"
        )
    if not os.path.isfile(path):
        raise NoSource(f"there is no file {path}")
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise NoSource(f"{path} is not Python source; its name must end with .py")
    directories = [os.path.dirname(path)]
    if os.path.islink(path):
        directories.insert(0, os.path.dirname(os.path.realpath(path)))
    at = len(sys.path) if _is_in_the_way(path) else 0
    sys.path[at:at] = directories
    make_way()
    neighbours = _Neighbours(path, directories)
    _check(neighbours)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        sys.modules.pop(name, None)
        if isinstance(error, ImportError) and str(error) == _NO_PACKAGE:
            raise NoSource(
                f"{error}; to load a file of a package, name its module and the "
                "directory that the package is in: { module, path }"
            ) from error
        raise
    _add(neighbours)
    return module


def _add(neighbours: _Neighbours) -> None:
    _loaded[neighbours.path] = neighbours
    # What it has imported, and its place in `sys.path`, are there for all.
    for each in _loaded.values():
        _check(each)


def _check(neighbours: _Neighbours) -> None:
    others = [
        each for each in _loaded.values() if each.directories != neighbours.directories
    ]
    mistaken = neighbours.mistaken(others)
    if mistaken is not None:
        raise NoSource(mistaken)


def _module_name(path: str) -> str:
    """Returns the file's own name, unless that is another module's."""
    name = stem = _stem(path)
    number = 1
    while name in sys.modules or name in sys.stdlib_module_names:
        name = f"snakepit_tools_{stem}" + ("" if number == 1 else f"_{number}")
        number += 1
    return name


def _is_in_the_way(path: str) -> bool:
    """Whether the file has the name of a module that is not one of the tools'."""
    stem = _stem(path)
    other = getattr(sys.modules.get(stem), "__file__", None)
    return stem in sys.stdlib_module_names or (
        stem in sys.modules and other not in _loaded
    )


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


class _Neighbours:
    """The modules beside a file of tools.

    All tools of a worker share one `sys.modules`: of two directories that both have a
    `helpers.py`, only one is `helpers`. Python says nothing about it.

    Attributes:
        path: the file.
        directories: where its neighbours are: that of the file, and that of a link to it.
    """

    def __init__(self, path: str, directories: list[str]) -> None:
        self.path = path
        self.directories = directories
        self._names = frozenset(_names_in(directories))

    def mistaken(self, others: list[_Neighbours]) -> str | None:
        """Returns a sentence about an import of this file that gets another module than
        its neighbour; None if there is none.

        Args:
            others: Other files of tools, which may have imported theirs.
        """
        mistaken = {}
        elsewhere = {name for other in others for name in other._names}
        for name in self._names:
            module = sys.modules.get(name)
            if module is None:
                if name not in elsewhere:
                    continue
                names = _origin(name, sys.path)
            else:
                names = _file_of(module)
            if names is None or self._is_beside(names):
                continue
            own = _origin(name, self.directories)
            if own is not None and not _is_same(own, names):
                mistaken[name] = (own, names)
        if not mistaken:
            return None
        # Few programs get here.

        for name in sorted(imports_of(self.path, self.directories)):
            if name in mistaken:
                own, names = mistaken[name]
                return (
                    f"{self.path} imports {name}, which in this worker is {names} and "
                    f"not {own}: the tools of a worker share their modules. Rename one "
                    "of the two, or make the directory a package and name the tools as "
                    "its module: { module, path }"
                )
        return None

    def _is_beside(self, file: str) -> bool:
        """Whether this is the file of a module, or of a package, in the directories."""
        directory = os.path.dirname(file)
        return directory in self.directories or (
            os.path.basename(file) == "__init__.py"
            and os.path.dirname(directory) in self.directories
        )


def _names_in(directories: list[str]) -> set[str]:
    names = set()
    for directory in directories:
        try:
            entries = os.listdir(directory)
        except OSError:
            continue  # It may be closed to this user, but not the file in it.
        for entry in entries:
            name, dot, _ = entry.partition(".")
            if name.isidentifier() and (not dot or entry.endswith(_SUFFIXES)):
                names.add(name)
    # Those are the standard library's for everybody, whichever comes first.
    return names - sys.stdlib_module_names


def _origin(name: str, path: list[str]) -> str | None:
    """Returns the file that would be imported; None for a directory without one."""
    spec = importlib.machinery.PathFinder.find_spec(name, path)
    return spec.origin if spec is not None and spec.has_location else None


def _file_of(module: ModuleType) -> str | None:
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else None


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def imports_of(path: str, directories: list[str]) -> set[str]:
    """Returns the names of the modules that a file imports, also late, and those that
    its neighbours import for it.
    """
    names: set[str] = set()
    files = [path]
    for file in files:
        try:
            with open(file, "rb") as source:
                tree = ast.parse(source.read())
        except (OSError, SyntaxError, ValueError):
            continue  # It is reported when it is imported.
        new = set(_imported(tree)) - names
        names |= new
        for name in new:
            spec = PathFinder.find_spec(name, directories)
            origin = None if spec is None else spec.origin
            if origin is not None and origin.endswith(".py"):
                files.append(origin)
    return names


def _imported(tree: ast.AST) -> list[str]:
    names = []
    nodes: list[ast.AST] = [tree]
    for node in nodes:
        if isinstance(node, ast.Import):
            names += [each.name.partition(".")[0] for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0 and node.module:
                names.append(node.module.partition(".")[0])
        elif isinstance(node, ast.If) and _is_type_checking(node.test):
            nodes += node.orelse  # The rest is never run.
        else:
            nodes += ast.iter_child_nodes(node)
    return names


def _is_type_checking(test: ast.expr) -> bool:
    name = getattr(test, "id", None) or getattr(test, "attr", None)
    return isinstance(test, (ast.Name, ast.Attribute)) and name == "TYPE_CHECKING"
