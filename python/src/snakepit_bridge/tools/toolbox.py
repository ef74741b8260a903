"""All that a module declares: its tools and its hooks."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from snakepit_bridge.tools.declaration import MARK, HookMark, ToolMark, ToolsetMark
from snakepit_bridge.tools.signature import SignatureInvalid
from snakepit_bridge.tools.tool import Tool

__all__ = ["Hook", "Toolbox", "ToolsInvalid"]

Hook = Callable[[], Any]


class ToolsInvalid(Exception):
    """A module's tools cannot be offered as they are declared."""


class Toolbox:
    """The tools and hooks of one module.

    What the module's names lead to counts, in the order of their definition:
    tools that it imports from elsewhere are its tools too.

    Attributes:
        tools: by name.
    """

    def __init__(self, module: ModuleType) -> None:
        """Looks through a module; makes no toolset yet.

        Raises:
            ToolsInvalid: two tools have one name, a signature cannot be called
                by a host, or nothing is declared.
        """
        self.tools: dict[str, Tool] = {}
        self._module = module
        self._toolsets: list[tuple[type, str]] = []
        self._startup: list[Hook] = []
        self._shutdown: list[Hook] = []
        for item in _distinct(module):
            self._add(item, _mark(item), "")
        self._check_methods()
        if not self.tools and not self._toolsets:
            raise ToolsInvalid(
                f"{module.__name__} has no tools; decorate a function with @tool"
            )

    def startup_hooks(self) -> Iterator[Hook]:
        """Yields what runs at the start, in order; toolsets are made in between."""
        yield from list(self._startup)
        for cls, prefix in self._toolsets:
            before = len(self._startup)
            yield functools.partial(self._make, cls, prefix)
            yield from self._startup[before:]

    def shutdown_hooks(self) -> Iterator[Hook]:
        """Yields what runs at the end: last declared, first run."""
        yield from reversed(self._shutdown)

    def _make(self, cls: type, prefix: str) -> None:
        instance = cls()
        for name in _attribute_names(cls):
            mark = _mark(getattr(cls, name, None))
            if mark is not None:
                self._add(getattr(instance, name), mark, prefix)

    def _add(self, item: Any, mark: object, prefix: str) -> None:
        if isinstance(mark, ToolMark):
            name = prefix + (mark.name or item.__name__)
            try:
                tool = Tool(name, item, mark)
            except SignatureInvalid as error:
                raise ToolsInvalid(f"the tool {_where(item)}: {error}") from error
            known = self.tools.setdefault(name, tool)
            if known is not tool:
                raise ToolsInvalid(
                    f"two tools are named {name!r}: {_where(known.function)} and "
                    f"{_where(item)}; give one of them another name=..."
                )
        elif isinstance(mark, HookMark):
            hooks = self._startup if mark.moment == "startup" else self._shutdown
            hooks.append(item)
        elif isinstance(mark, ToolsetMark) and isinstance(item, type):
            self._toolsets.append((item, mark.prefix))

    def _check_methods(self) -> None:
        """Refuses a class whose tools could never be called."""
        toolsets = [cls for cls, _ in self._toolsets]
        for cls in vars(self._module).values():
            if not isinstance(cls, type) or cls.__module__ != self._module.__name__:
                continue
            marks = [_mark(value) for value in vars(cls).values()]
            # Not issubclass: typed dicts and protocols refuse the question.
            used = any(cls in toolset.__mro__ for toolset in toolsets)
            if not used and any(isinstance(mark, ToolMark) for mark in marks):
                raise ToolsInvalid(
                    f"the class {cls.__qualname__} has methods under @tool, but is "
                    "no toolset; put @toolset on it"
                )


def _mark(item: object) -> object:
    # Not getattr: some objects have an answer for every name.
    if isinstance(item, type):
        return vars(item).get(MARK)
    try:
        mark = inspect.getattr_static(item, MARK, None)
        if mark is None and isinstance(item, (staticmethod, classmethod)):
            mark = inspect.getattr_static(item.__func__, MARK, None)
        if mark is None and inspect.ismethod(item):
            mark = inspect.getattr_static(item.__func__, MARK, None)
    except AttributeError:
        return None
    return mark


def _distinct(module: ModuleType) -> list[object]:
    """Returns what the module's names lead to, each once."""
    found: dict[int, object] = {id(item): item for item in vars(module).values()}
    return list(found.values())


def _attribute_names(cls: type) -> list[str]:
    """Returns the names of a class in the order of their definition, bases first."""
    names: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        names.update(dict.fromkeys(vars(base)))
    return list(names)


def _where(function: Any) -> str:
    return f"{function.__module__}.{function.__qualname__}"
