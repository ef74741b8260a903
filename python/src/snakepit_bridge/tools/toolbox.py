"""The tools and hooks of a worker."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

from snakepit_bridge.tools.declaration import HookMark, ToolMark, ToolsetMark
from snakepit_bridge.tools.members import (
    ToolsInvalid,
    exposed,
    listed,
    mark_of,
    marked,
    methods,
)
from snakepit_bridge.tools.signature import SignatureInvalid
from snakepit_bridge.tools.tool import Tool, qualified_name

__all__ = ["Hook", "Toolbox", "ToolsInvalid"]

Hook = Callable[[], Any]


class Toolbox:
    """The tools and hooks of some modules.

    What the names of a module lead to counts, in the order of their definition:
    tools that it imports from elsewhere are its tools too.

    Attributes:
        tools: by name.
    """

    def __init__(self, *modules: ModuleType) -> None:
        """Looks through modules; makes no toolset yet.

        Raises:
            ToolsInvalid: as `add`.
        """
        self.tools: dict[str, Tool] = {}
        self._toolsets: list[tuple[type, str]] = []
        self._startup: list[Hook] = []
        self._shutdown: list[Hook] = []
        self._exits: list[Hook] = []
        for module in modules:
            self.add(module)

    def add(self, module: ModuleType, expose: list[str] | None = None) -> None:
        """Looks through a module; makes no toolset yet.

        Args:
            module: where tools are.
            expose: the names of functions that are tools as they are; None for what
                the module declares.

        Raises:
            ToolsInvalid: two tools have one name, a signature cannot be called
                by a host, there is nothing of a name, or nothing is declared.
        """
        before = len(self.tools) + len(self._toolsets)
        if expose is not None:
            self._add_all(exposed(module, expose))
        else:
            self._add_all(marked(module))
            self._add_all(listed(module))
            self._check_methods(module)
        if len(self.tools) + len(self._toolsets) == before:
            raise ToolsInvalid(
                f"{module.__name__} has no tools; decorate a function with @tool, list "
                "functions in TOOLS = [...], or have the host name some with expose"
            )

    def startup_hooks(self) -> Iterator[Hook]:
        """Yields what runs at the start, in order; toolsets are made in between."""
        yield from list(self._startup)
        for cls, prefix in self._toolsets:
            made: list[object] = []
            yield functools.partial(self._make, cls, made)
            before = len(self._startup)
            for name, mark in methods(cls):
                self._add(getattr(made[0], name), mark, prefix)
            yield from self._startup[before:]

    def shutdown_hooks(self) -> Iterator[Hook]:
        """Yields what runs at the end: last declared, first run."""
        yield from reversed(self._shutdown)

    def exit_hooks(self) -> Iterator[Hook]:
        """Yields what leaves the toolsets that were entered, the last one first."""
        yield from reversed(self._exits)

    def _make(self, cls: type, made: list[object]) -> Any:
        """Makes a toolset and enters it; what it returns is to be awaited."""
        instance = cls()
        made.append(instance)
        if hasattr(cls, "__aenter__"):
            return self._enter(instance)
        if hasattr(cls, "__enter__"):
            cls.__enter__(instance)
            self._leave_by(functools.partial(instance.__exit__, None, None, None))
        return None

    async def _enter(self, instance: Any) -> None:
        await instance.__aenter__()
        self._leave_by(functools.partial(instance.__aexit__, None, None, None))

    def _leave_by(self, leave: Hook) -> None:
        self._exits.append(leave)
        self._shutdown.append(leave)

    def _add_all(self, items: Iterable[tuple[object, object]]) -> None:
        for item, mark in items:
            self._add(item, mark, "")

    def _add(self, item: Any, mark: object, prefix: str) -> None:
        if isinstance(mark, ToolMark):
            name = prefix + (mark.name or _name(item))
            if name.startswith(Tool.RESERVED):
                raise ToolsInvalid(
                    f"the tool {qualified_name(item)} is named {name!r}, and names that "
                    f"begin with {Tool.RESERVED!r} are the bridge's own"
                )
            try:
                tool = Tool(name, item, mark)
            except SignatureInvalid as error:
                raise ToolsInvalid(
                    f"the tool {qualified_name(item)}: {error}"
                ) from error
            known = self.tools.setdefault(name, tool)
            if known.together != tool.together:
                raise ToolsInvalid(
                    f"two tools are named {name!r}: {known.qualified_name} and "
                    f"{tool.qualified_name}; give one of them another name=..."
                )
        elif isinstance(mark, HookMark):
            hooks = self._startup if mark.moment == "startup" else self._shutdown
            hooks.append(item)
        elif isinstance(mark, ToolsetMark) and isinstance(item, type):
            self._toolsets.append((item, mark.prefix))

    def _check_methods(self, module: ModuleType) -> None:
        """Refuses a class whose tools could never be called."""
        toolsets = [cls for cls, _ in self._toolsets]
        for cls in vars(module).values():
            if not isinstance(cls, type) or cls.__module__ != module.__name__:
                continue
            marks = [mark_of(value) for value in vars(cls).values()]
            # Not issubclass: typed dicts and protocols refuse the question.
            used = any(cls in toolset.__mro__ for toolset in toolsets)
            if not used and any(isinstance(mark, ToolMark) for mark in marks):
                raise ToolsInvalid(
                    f"the class {cls.__qualname__} has methods under @tool, but is "
                    "no toolset; put @toolset on it"
                )


def _name(function: Any) -> str:
    name = getattr(function, "__name__", None)
    if not isinstance(name, str) or name == "<lambda>":
        raise ToolsInvalid(
            f"{function!r:.60} has no name that a host could call; make it a def"
        )
    return name
