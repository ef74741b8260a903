"""Finds the tools and hooks of a module or a class: marked, listed, exposed or public
ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MethodType, ModuleType

from snakepit_bridge.own_imports import standard
from snakepit_bridge.tools.declaration import (
    MARK,
    NO_INPUT,
    HookMark,
    ToolMark,
    ToolsetMark,
)
from snakepit_bridge.tools.function_shape import attribute_of, dict_of_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

__all__ = [
    "Mark",
    "ToolsInvalid",
    "exposed",
    "listed",
    "mark_of",
    "marked",
    "member_names",
    "methods",
]

if TYPE_CHECKING:
    import difflib
else:
    difflib = standard("difflib")

Mark: TypeAlias = "ToolMark | ToolsetMark | HookMark"
_HOOKS = {"setup": "startup", "teardown": "shutdown"}


class ToolsInvalid(Exception):
    """A module's tools cannot be offered as they are declared."""


def mark_of(item: object) -> Any:
    """Returns what a decorator noted on a function or class; None if nothing."""
    # Neither getattr nor isinstance: some objects return a value for every name, and lazy
    # ones, such as the settings of Django, are made when anything of them is read.
    kind = type(item)
    if issubclass(kind, type):
        return dict_of_class(item).get(MARK)
    try:
        mark = attribute_of(item, MARK)
        if mark is None and issubclass(kind, (staticmethod, classmethod, MethodType)):
            mark = attribute_of(item.__func__, MARK)  # type: ignore[attr-defined]
    except AttributeError:
        return None
    return mark


def marked(module: ModuleType) -> list[tuple[object, Any]]:
    """Returns the objects behind the names of a module, each once, with its mark."""
    found: dict[int, object] = {id(item): item for item in vars(module).values()}
    return [(item, mark_of(item)) for item in found.values()]


def listed(module: ModuleType) -> Iterator[tuple[object, Mark]]:
    """Yields the functions that `TOOLS = [...]` of a module lists and that no decorator
    marks.

    Raises:
        ToolsInvalid: it lists something else than functions.
    """
    functions = vars(module).get("TOOLS", ())
    if not isinstance(functions, (list, tuple)):
        raise ToolsInvalid(
            f"TOOLS of {module.__name__} is a list of functions, not {functions!r:.60}"
        )
    for item in functions:
        if isinstance(item, type) or not callable(item):
            raise ToolsInvalid(
                f"TOOLS of {module.__name__} lists functions, and {item!r:.60} is "
                "none; a class becomes a toolset with @toolset"
            )
        if mark_of(item) is None:
            yield item, ToolMark(None, NO_INPUT)


def exposed(module: ModuleType, names: list[str]) -> Iterator[tuple[object, Mark]]:
    """Yields the functions of a module that the host names.

    Raises:
        ToolsInvalid: there is none of a name, or it cannot be called.
    """
    for name in names:
        try:
            item = getattr(module, name)
        except AttributeError:
            near = difflib.get_close_matches(name, dir(module), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ToolsInvalid(
                f"{module.__name__} has no {name!r}, which expose names{hint}"
            ) from None
        if not callable(item):
            raise ToolsInvalid(
                f"{module.__name__}.{name}, which expose names, is of type "
                f"{type(item).__name__} and cannot be called; expose functions only"
            )
        yield item, mark_of(item) or ToolMark(name, NO_INPUT, foreign=True)


def methods(cls: type) -> Iterator[tuple[str, Mark]]:
    """Yields the names of a toolset's tools and hooks, in the order of their definition.

    The tools are the methods under `tool`; if there are none, all public methods. Methods
    named `setup` and `teardown` are hooks, unless a decorator says what they are. Methods
    without a decorator that the class inherits from another module are neither.
    """
    found = [
        (name, mark)
        for name in member_names(cls.__mro__)
        if (mark := mark_of(getattr(cls, name, None))) is not None
    ]
    yield from found
    all_public = not any(isinstance(mark, ToolMark) for _, mark in found)
    own = [base for base in cls.__mro__ if base.__module__ == cls.__module__]
    for name in member_names(own):
        item = getattr(cls, name, None)
        if name.startswith("_") or isinstance(item, type) or not callable(item):
            continue
        if mark_of(item) is not None:
            continue
        if name in _HOOKS:
            yield name, HookMark(_HOOKS[name])
        elif all_public:
            yield name, ToolMark(name, NO_INPUT)


def member_names(classes: list[type] | tuple[type, ...]) -> list[str]:
    """Returns the names of classes in the order of their definition, bases first."""
    names: dict[str, None] = {}
    for base in reversed(classes):
        names.update(dict.fromkeys(vars(base)))
    return list(names)
