"""The tools and hooks of a worker, and how they are found in a module or a class."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from types import MethodType, ModuleType

from snakepit_bridge.bridge_log import logger
from snakepit_bridge.tools.binding import did_you_mean
from snakepit_bridge.tools.declaration import (
    MARK,
    NO_INPUT,
    HookMark,
    ToolMark,
    ToolsetMark,
)
from snakepit_bridge.tools.function_shape import (
    attribute_of,
    bound_dispatch,
    dict_of_class,
)
from snakepit_bridge.tools.signature import SignatureInvalid
from snakepit_bridge.tools.tool import Tool, qualified_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias


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
    members: dict[int, object] = {id(item): item for item in vars(module).values()}
    return [(item, mark_of(item)) for item in members.values()]


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
            hint = did_you_mean(name, dir(module))
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
    members = [
        (name, mark)
        for name in member_names(cls.__mro__)
        if (mark := mark_of(getattr(cls, name, None))) is not None
    ]
    yield from members
    all_public = not any(isinstance(mark, ToolMark) for _, mark in members)
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


Hook: TypeAlias = "Callable[[], Any]"


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
        # The shut-down hooks of what has started.
        self._ends: list[Hook] = []
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
        """Yields what runs at the start, in order; toolsets are made in between.

        Each must be complete before the next one is requested.

        Raises:
            ToolsInvalid: before the first hook: two tools have one name.
        """
        self._check_names()
        yield from self._start()
        for cls, prefix in self._toolsets:
            hook: list[object] = []
            yield functools.partial(self._make, cls, hook)
            for name, mark in methods(cls):
                declared = _attribute_of_class(cls, name)
                method = bound_dispatch(getattr(hook[0], name), declared)
                self._add(method, mark, prefix)
            yield from self._start()

    def described(self) -> dict[str, Tool]:
        """Returns the tools, also those of toolsets, of which none is made: to describe
        them runs no code of theirs. They are not to be called.

        Raises:
            ToolsInvalid: two tools have one name.
        """
        self._check_names()
        # Of a method, it takes the place of the instance.
        nothing = object()
        for cls, prefix in self._toolsets:
            for name, mark in methods(cls):
                method = declared = _attribute_of_class(cls, name)
                if hasattr(type(declared), "__get__"):
                    method = bound_dispatch(declared.__get__(nothing, cls), declared)
                if isinstance(mark, ToolMark):
                    self._add(method, mark, prefix)
        return self.tools

    def shutdown_hooks(self) -> Iterator[Hook]:
        """Yields the hooks that end what has started; the last declared one comes
        first.

        After a start that failed: of the module's functions if all their start-up hooks
        had run, of each toolset whose start-up hooks had, and the exit of each toolset
        that was entered.
        """
        yield from reversed(self._ends)

    def start(self, run: Callable[[Hook], object]) -> None:
        """Runs every start-up hook. When one fails, everything that has started is
        ended, as with `with`.

        Args:
            run: runs a hook, and awaits what it returns.
        """
        try:
            for hook in self.startup_hooks():
                run(hook)
        except BaseException:
            self.shut_down(run)
            raise

    def shut_down(self, run: Callable[[Hook], object]) -> list[BaseException]:
        """Runs every shut-down hook; logs what they raise, and returns it.

        Args:
            run: runs a hook, and awaits what it returns.
        """
        failed: list[BaseException] = []
        for hook in self.shutdown_hooks():
            try:
                run(hook)
            except BaseException as error:  # noqa: BLE001 - it is logged
                logger(__name__).exception("a shut-down hook failed")
                failed.append(error)
        return failed

    def _start(self) -> Iterator[Hook]:
        """Yields the start-up hooks that are new; then the end of these parts is due."""
        startup, self._startup = self._startup, []
        shutdown, self._shutdown = self._shutdown, []
        yield from startup
        self._ends.extend(shutdown)

    def _make(self, cls: type, made: list[object]) -> Any:
        """Creates a toolset and enters it; its result must be awaited."""
        instance = cls()
        made.append(instance)
        if hasattr(cls, "__aenter__"):
            return self._enter(instance)
        if hasattr(cls, "__enter__"):
            cls.__enter__(instance)
            self._ends.append(functools.partial(instance.__exit__, None, None, None))
        return None

    async def _enter(self, instance: Any) -> None:
        await instance.__aenter__()
        self._ends.append(functools.partial(instance.__aexit__, None, None, None))

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
                names = known.qualified_name, tool.qualified_name
                raise _same_name(name, *names, is_exposed=mark.foreign)
        elif isinstance(mark, HookMark):
            hooks = self._startup if mark.moment == "startup" else self._shutdown
            hooks.append(item)
        elif isinstance(mark, ToolsetMark) and issubclass(type(item), type):
            self._toolsets.append((item, mark.prefix))

    def _check_names(self) -> None:
        """Refuses two tools of one name before any toolset is made."""
        known: dict[str, tuple[int, Any]] = {
            name: (-1, tool.together) for name, tool in self.tools.items()
        }
        for i, (cls, prefix) in enumerate(self._toolsets):
            for attribute, mark in methods(cls):
                if isinstance(mark, ToolMark):
                    function = getattr(cls, attribute)
                    name = prefix + (mark.name or _name(function))
                    other = known.setdefault(name, (i, function))
                    if other != (i, function):
                        origins = self._origin(*other), self._origin(i, function)
                        raise _same_name(name, *origins)

    def _origin(self, toolset: int, function: Any) -> str:
        """Names a function, and the toolset of a method, which may be inherited."""
        if toolset < 0:
            return qualified_name(function)
        cls, _ = self._toolsets[toolset]
        return f"{qualified_name(function)} of the toolset {cls.__qualname__}"

    def _check_methods(self, module: ModuleType) -> None:
        """Refuses a class whose tools could never be called."""
        toolsets = [cls for cls, _ in self._toolsets]
        for cls in vars(module).values():
            if not issubclass(type(cls), type) or cls.__module__ != module.__name__:
                continue
            marks = [mark_of(value) for value in dict_of_class(cls).values()]
            # Not issubclass: typed dicts and protocols raise there.
            used = any(cls in toolset.__mro__ for toolset in toolsets)
            if not used and any(isinstance(mark, ToolMark) for mark in marks):
                raise ToolsInvalid(
                    f"the class {cls.__qualname__} has methods under @tool, but is "
                    "no toolset; put @toolset on it"
                )


def _attribute_of_class(cls: type, name: str) -> Any:
    return next(vars(base)[name] for base in cls.__mro__ if name in vars(base))


def _same_name(
    name: str, one: str, other: str, *, is_exposed: bool = False
) -> ToolsInvalid:
    remedy = (
        "put a function of another name around one of them, and expose that"
        if is_exposed
        else "give one of them another name=..., or its toolset a prefix=..."
    )
    return ToolsInvalid(f"two tools are named {name!r}: {one} and {other}; {remedy}")


def _name(function: Any) -> str:
    name = getattr(function, "__name__", None)
    if not isinstance(name, str) or name == "<lambda>":
        raise ToolsInvalid(
            f"{function!r:.60} has no name that a host could call; make it a def"
        )
    return name
