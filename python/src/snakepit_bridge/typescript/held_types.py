"""Writes the classes of objects that stay in the worker as TypeScript interfaces."""

from __future__ import annotations

import dis
import functools
import inspect
import os
import sys
import sysconfig
import types
import typing
from abc import ABC
from collections.abc import Callable, Container, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from snakepit_bridge.tools.annotations.check import Unsupported
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.annotations.handles import HandleCheck
from snakepit_bridge.tools.members import member_names
from snakepit_bridge.tools.signature import Signature, SignatureInvalid, resolved_hints
from snakepit_bridge.typescript.text import comment, labels, name, type_name

if TYPE_CHECKING:
    from snakepit_bridge.typescript.type_writer import TypeWriter

__all__ = ["HeldTypes", "held_types"]

# Where libraries are: their classes are large, and have few annotations.
_INSTALLED = tuple(
    os.path.join(os.path.realpath(path), "")
    for kind, path in sysconfig.get_paths().items()
    if kind.endswith("lib")
)
_PLAIN_BASES = (object, ABC, typing.Generic, typing.Protocol)
_ITERATORS = ("Iterator", "Generator")


class HeldTypes:
    """The classes that handles were written of, in both directions.

    Attributes:
        classes: those that have a type, in the order in which they were written.
    """

    def __init__(self, names: Mapping[type, str] | None = None) -> None:
        """`names`: of the types; the default is that of the class."""
        self._names = names or {}
        self.classes = list(self._names)

    def handle(self, kind: type) -> str:
        """Returns the type of a handle; one of a class of a library is not typed."""
        if not _is_own(kind):
            return "Handle"
        if kind not in self.classes:
            self.classes.append(kind)
        return f"Handle<{self.name_of(kind)}>"

    def name_of(self, kind: type) -> str:
        """Returns the name of the type of a class."""
        return self._names.get(kind) or type_name(kind.__name__)

    def renamed(self, used: Container[str]) -> HeldTypes:
        """Returns the same classes, with names that are not used."""
        names: dict[type, str] = {}
        for kind in self.classes:
            wanted = written = self.name_of(kind)
            count = 1
            while written in used or written in names.values():
                count += 1
                written = f"{wanted}{count}"
            names[kind] = written
        return HeldTypes(names)


def held_types(held: HeldTypes, taken: TypeWriter, answered: TypeWriter) -> list[str]:
    """Returns the lines of the interfaces: methods, attributes, and what these name."""
    lines: list[str] = []
    # The list may grow: a method can return a handle of another class.
    for kind in held.classes:
        # Not `__doc__`: a class without a docstring inherits that of its base.
        documentation = inspect.cleandoc(kind.__dict__.get("__doc__") or "")
        if documentation.startswith(f"{kind.__name__}("):
            # A dataclass without one has its signature.
            documentation = ""
        lines += ["", *comment(documentation)]
        lines.append(f"export interface {held.name_of(kind)} {{")
        lines += [f"  {line}" for line in _members(kind, taken, answered)]
        lines.append("}")
    return lines


def _members(kind: type, taken: TypeWriter, answered: TypeWriter) -> Iterator[str]:
    hints = _hints(kind)
    for key, hint in hints.items():
        if not key.startswith("_"):
            yield f"readonly {name(key)}: {_answer(hint, kind, answered)};"
    names = member_names(kind.__mro__)
    for key in dict.fromkeys([*_assigned(kind), *names]):
        if key.startswith("_") or key in hints:
            continue
        if key not in names:
            yield f"readonly {name(key)}: unknown;"
            continue
        item = inspect.getattr_static(kind, key)
        if isinstance(item, (types.FunctionType, classmethod, staticmethod)):
            function: Any = getattr(item, "__func__", item)
            yield from comment(inspect.getdoc(function) or "")
            skipped = 0 if isinstance(item, staticmethod) else 1
            arguments = _arguments(function, skipped, taken)
            yield f"{name(key)}({arguments}): {_result(function, kind, answered)};"
            continue
        getter = item.fget if isinstance(item, property) else None
        if isinstance(item, functools.cached_property):
            getter = item.func
        written = "unknown" if getter is None else _result(getter, kind, answered)
        yield f"readonly {name(key)}: {written};"


def _assigned(kind: type) -> Iterator[str]:
    """Yields the attributes that are set where an instance is made."""
    for base in reversed(kind.__mro__):
        init = vars(base).get("__init__")
        if isinstance(init, types.FunctionType):
            for instruction in dis.get_instructions(init):
                if instruction.opname == "STORE_ATTR":
                    yield instruction.argval


def _arguments(function: Callable[..., Any], skipped: int, taken: TypeWriter) -> str:
    """Returns the positional arguments, without the first `skipped`."""
    signature = Signature(function, foreign=True)
    positional = signature.positional[skipped:]
    named = labels([*(key for key, _, _ in positional), "rest"])
    least = signature.required_positional
    arguments = [
        f"{named[i]}{'' if i + skipped < least else '?'}: {taken.written(check)}"
        for i, (_, check, _) in enumerate(positional)
    ]
    if signature.rest is not None:
        arguments.append(f"...{named[-1]}: Array<{taken.written(signature.rest)}>")
    return ", ".join(arguments)


def _result(function: Callable[..., Any], kind: type, answered: TypeWriter) -> str:
    if inspect.iscoroutinefunction(function):
        # The coroutine stays in the worker: `awaited()` gives its result.
        return _answer(types.CoroutineType, kind, answered)
    return _answer(_hints(function).get("return", Any), kind, answered)


def _answer(annotation: Any, kind: type, answered: TypeWriter) -> str:
    """Returns the type of a value, or of a handle where none crosses."""
    origin = typing.get_origin(annotation) or annotation
    parts = typing.get_args(annotation)
    if origin is ClassVar:
        return _answer(parts[0] if parts else Any, kind, answered)
    if origin in (typing.Union, types.UnionType):
        members = [_answer(part, kind, answered) for part in parts]
        return "unknown" if "unknown" in members else " | ".join(dict.fromkeys(members))
    if getattr(origin, "__name__", None) in _ITERATORS and parts:
        answered.imports.add("Handle")
        return f"Handle<Iterable<{_answer(parts[0], kind, answered)}>>"
    try:
        return answered.written(compile_annotation(annotation, answered=True))
    except Unsupported:
        is_self = getattr(annotation, "__name__", None) == "Self"
        return answered.written(HandleCheck(kind if is_self else annotation))


def _hints(item: Any) -> dict[str, Any]:
    try:
        return resolved_hints(item)
    except SignatureInvalid:
        return {}


def _is_own(kind: type) -> bool:
    """Returns whether a class is written in Python, by the author of the tools."""
    if kind in _PLAIN_BASES:
        return False
    others = [base for base in kind.__mro__ if base not in _PLAIN_BASES]
    return all(map(_is_own_alone, others))


def _is_own_alone(kind: type) -> bool:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file is not None and not os.path.realpath(file).startswith(_INSTALLED)
