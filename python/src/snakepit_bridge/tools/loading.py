"""The user's module: imported, by name or from a file."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import time
from types import ModuleType

__all__ = ["NoSource", "keep_file", "load_file", "load_module"]

# This module is loaded before any tool, in seconds since the epoch.
BEGUN_S = time.time()

# By path: the files that a preloaded parent has loaded, so that its workers do not load
# them again.
_kept: dict[str, ModuleType] = {}


# Python's error about `from .other import x` in a file that is loaded alone.
_NO_PACKAGE = "attempted relative import with no known parent package"


class NoSource(ImportError):
    """There is nothing to import at the given place."""


def load_module(name: str) -> ModuleType:
    """Imports a module by its name.

    Raises whatever the module raises.

    Raises:
        NoSource: there is no such module.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise NoSource(
            f"{error}; install it, or set the adapter's tools.path or toolPath to "
            "the directory that it is in"
        ) from error


def keep_file(path: str) -> None:
    """Imports a file for every process that is forked from this one."""
    _kept[os.path.abspath(path)] = load_file(path)


def load_file(path: str) -> ModuleType:
    """Imports a file with its directory in front of `sys.path`, like a script.

    A file with the name of a module of the standard library must not hide that module:
    then the directory comes last.

    Raises whatever the file raises.

    Raises:
        NoSource: there is no such file, or it is not Python source.
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
    in_the_way = name != _stem(path)
    sys.path.insert(len(sys.path) if in_the_way else 0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise NoSource(f"{path} is not Python source; its name must end with .py")
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
    return module


def _module_name(path: str) -> str:
    """Returns the file's own name, unless that is another module's."""
    stem = _stem(path)
    if stem in sys.modules or stem in sys.stdlib_module_names:
        return f"snakepit_tools_{stem}"
    return stem


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]
