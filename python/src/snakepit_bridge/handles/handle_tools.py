"""The tools by which the host uses handles, and what the host may reach through one.

The limits keep a program from reaching the interpreter through a harmless object. They
are not a sandbox: a library's own functions can do anything.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from types import (
    BuiltinMethodType,
    CodeType,
    FrameType,
    FunctionType,
    MethodDescriptorType,
    ModuleType,
    TracebackType,
)
from typing import Any

from snakepit_bridge.calls.context.call import current_call
from snakepit_bridge.failures.failure import CallRefused
from snakepit_bridge.frames import FailureCode
from snakepit_bridge.tools.binding import did_you_mean
from snakepit_bridge.tools.declaration import NO_INPUT, Answers, ToolMark
from snakepit_bridge.tools.tool import Tool

_INTERNAL = (CodeType, FrameType, TracebackType)
# Functions that run text as code, or reach names that begin with an underscore.
_FORBIDDEN = (
    eval,
    exec,
    compile,
    __import__,
    getattr,
    setattr,
    delattr,
    vars,
    globals,
    locals,
    breakpoint,
)
# The same in modules that are not imported for this.
_FORBIDDEN_BY_NAME = frozenset(
    {
        "inspect.getattr_static",
        "inspect.getmembers",
        "inspect.getmembers_static",
        "operator.attrgetter",
        "operator.methodcaller",
        "string.Formatter",
    }
)
# What is written in braces in a text may be the private name of what is formatted.
_FORMATS = frozenset({"format", "format_map"})


class Access:
    """The rules of one worker: which objects, which of their names, and which values."""

    def __init__(self, modules: Sequence[str]) -> None:
        """`modules`: names of those that may be imported, with what is in them."""
        self._modules = modules

    def imported(self, name: str) -> ModuleType:
        """Imports a module.

        Raises:
            CallRefused: the host does not allow it; nothing was imported.
            ImportError: there is none.
        """
        if not self._is_allowed(name):
            raise self._not_listed(name, is_early=True)
        return importlib.import_module(name)

    def target(self, value: Any) -> Any:
        """Returns the object of a handle.

        Raises:
            CallRefused: it is a value that the host sent.
        """
        if not current_call().handles.holds(value):
            raise _refused(
                f"the target is of type {type(value).__name__} and was sent as a value; "
                "only an object that the session holds has a handle",
                is_early=True,
            )
        return value

    def attribute(self, target: object, name: str) -> Any:
        """Returns an attribute.

        Raises:
            CallRefused: it is not offered.
            AttributeError: there is none.
        """
        if name.startswith("_"):
            raise _refused(
                f"{name!r} begins with an underscore; handles offer public names only",
                is_early=True,
            )
        if name in _FORMATS and _is_of_text(target):
            raise _refused(
                f"{name}() of text is not offered by handles, because its fields can "
                "name what is private; format it in a tool",
                is_early=True,
            )
        try:
            value = getattr(target, name)
        except AttributeError as error:
            public = [each for each in dir(target) if not each.startswith("_")]
            hint = did_you_mean(name, public)
            raise AttributeError(f"{error}{hint}") from None
        return self.admitted(value)

    def admitted(self, value: Any) -> Any:
        """Returns the value if the host may have it.

        Raises:
            CallRefused: it may not.
        """
        if isinstance(value, ModuleType) and not self._is_allowed(value.__name__):
            raise self._not_listed(value.__name__)
        if isinstance(value, _INTERNAL) or _is_forbidden(value):
            name = getattr(value, "__name__", type(value).__name__)
            raise _refused(f"{name} is not offered by handles")
        return value

    def _is_allowed(self, name: str) -> bool:
        return any(f"{name}.".startswith(f"{module}.") for module in self._modules)

    def _not_listed(self, name: str, *, is_early: bool = False) -> CallRefused:
        known = ", ".join(self._modules) or "none"
        return _refused(
            f"the module {name!r} is not among handles.imports ({known})",
            is_early=is_early,
        )


def _is_of_text(target: object) -> bool:
    return isinstance(target, str) or (
        isinstance(target, type) and issubclass(target, str)
    )


def _is_forbidden(value: object) -> bool:
    if any(value is each for each in _FORBIDDEN):
        return True
    if isinstance(value, (BuiltinMethodType, MethodDescriptorType)):
        # Of text, or of its class.
        owner = getattr(value, "__self__", None) or getattr(value, "__objclass__", None)
        return value.__name__ in _FORMATS and _is_of_text(owner)
    if not isinstance(value, (type, FunctionType)):
        return False
    kinds = value.__mro__ if isinstance(value, type) else (value,)
    return any(
        f"{each.__module__}.{each.__qualname__}" in _FORBIDDEN_BY_NAME for each in kinds
    )


def _refused(message: str, *, is_early: bool = False) -> CallRefused:
    return CallRefused(FailureCode.HANDLE_REFUSED, message, is_early=is_early)


def handle_tools(modules: Sequence[str]) -> dict[str, Tool]:
    """Returns the tools, by name. `modules`: those that the host may import."""
    tools = _HandleTools(Access(modules))
    offered: list[tuple[str, Callable[..., Any], Answers]] = [
        ("import", tools.module, Answers.REFERENCE),
        ("get", tools.get, Answers.EITHER),
        ("item", tools.item, Answers.EITHER),
        ("call", tools.call, Answers.EITHER),
        ("keep", tools.call, Answers.REFERENCE),
        ("await", tools.awaited, Answers.EITHER),
        ("iterate", tools.iterate, Answers.EITHER),
        ("value", tools.value, Answers.VALUE),
        ("release", tools.release, Answers.VALUE),
    ]
    return {
        (name := f"{Tool.RESERVED}{short}"): Tool(
            name, function, ToolMark(name, NO_INPUT, answers=answers)
        )
        for short, function, answers in offered
    }


class _HandleTools:
    """The functions. Handles among their arguments have become the objects."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def module(self, name: str) -> Any:
        return self._access.imported(name)

    def get(self, target: Any, name: str) -> Any:
        return self._access.attribute(self._access.target(target), name)

    def item(self, target: Any, key: Any) -> Any:
        return self._access.admitted(self._access.target(target)[key])

    def call(
        self,
        target: Any,
        name: str | None,
        arguments: list[Any],
        named: dict[str, Any],
    ) -> Any:
        target = self._access.target(target)
        function = target if name is None else self._access.attribute(target, name)
        return self._access.admitted(function(*arguments, **named))

    async def awaited(self, target: Any) -> Any:
        target = self._access.target(target)
        if not isinstance(target, Awaitable):
            raise TypeError(
                f"an object of type {type(target).__name__} cannot be awaited"
            )
        return self._access.admitted(await target)

    def iterate(self, target: Any) -> Iterator[Any]:
        for item in self._access.target(target):
            yield self._access.admitted(item)

    def value(self, target: Any) -> Any:
        return self._access.target(target)

    def release(self, token: bytes) -> None:
        current_call().handles.release(token)
