"""Writes the TypeScript module for `createPool<Tools>` of `@snakepit/core`."""

from __future__ import annotations

import dis
import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from snakepit_bridge.tools.annotations.check import Check, Unsupported
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.annotations.handles import HandleCheck
from snakepit_bridge.tools.signature import Signature, SignatureInvalid, resolved_hints
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.tools.toolbox import member_names
from snakepit_bridge.typescript.type_writer import (
    IMPORTED,
    TAKEN,
    HeldTypes,
    TypeWriter,
    comment,
    conditions,
    labels,
    name,
    object_names,
    object_types,
)

_ITERATORS = ("Iterator", "Generator")
# Of a method or of an argument in it, without the indent.
_WIDTH = 78


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


def tools_module(
    tools: Iterable[Tool], command: str, *, safe_integers: bool = False
) -> str:
    """Returns the text of a module that exports the type `Tools`.

    Args:
        tools: the tools, in the order in which they are written.
        command: the command that makes this text; one line.
        safe_integers: every integer in a result is a `number`, as the caller
            promises; otherwise those beyond 2**53 are a `bigint`.
    """
    tools = list(tools)
    held = HeldTypes()
    taken = TypeWriter(sent=True, held=held)
    answered = TypeWriter(sent=False, safe_integers=safe_integers, held=held)
    # Written twice: types get their names when all of them are known.
    _methods(tools, taken, answered)
    known = -1
    while known < len(held.classes):
        # Handles lead to objects, which lead to handles.
        known = len(held.classes)
        held_types(held, taken, answered)
        names_taken, names_answered = object_names(taken, answered)
    held = held.renamed({*TAKEN, *names_taken.values(), *names_answered.values()})
    taken = taken.another(names_taken, held)
    answered = answered.another(names_answered, held)
    methods = _methods(tools, taken, answered)
    types = held_types(held, taken, answered)
    types += object_types(taken, answered)
    imports = _imports(taken.imports | answered.imports)
    lines = [
        f"// Made by `{command}`.",
        *imports,
        "",
        "/** What each tool takes, and what it returns if it keeps to its annotations. */",
        "export type Tools = {",
        *(f"  {line}" for line in methods),
        "};",
        *types,
    ]
    return "".join(f"{line}\n" for line in lines)


def _imports(names: set[str]) -> list[str]:
    """Returns the lines that import these types, after an empty one."""
    sources: dict[str, list[str]] = {}
    for imported in sorted(names):
        written, source = IMPORTED[imported]
        sources.setdefault(source, []).append(written)
    lines = [
        f'import type {{ {", ".join(written)} }} from "{source}";'
        for source, written in sorted(sources.items())
    ]
    return ["", *lines] if lines else []


def _methods(tools: list[Tool], taken: TypeWriter, answered: TypeWriter) -> list[str]:
    return [line for tool in tools for line in _method(tool, taken, answered)]


def _method(tool: Tool, taken: TypeWriter, answered: TypeWriter) -> list[str]:
    result = answered.written(tool.signature.result)
    if tool.streams:
        returned = tool.signature.stream_result
        parts = [result] if returned is None else [result, answered.written(returned)]
        result = f"AsyncIterable<{', '.join(parts)}>"
    documented = comment(_description(tool, taken))
    forms = _forms(tool.signature, taken)
    parameter = "args" if tool.signature.required else "args?"
    args = " ".join(line for form in forms for line in form).removeprefix("| ")
    line = f"{name(tool.name)}({f'{parameter}: {args}' if forms else ''}): {result};"
    if len(line) <= _WIDTH or not forms:
        return [*documented, line]
    forms[-1][-1] += ","
    return [
        *documented,
        f"{name(tool.name)}(",
        f"  {parameter}:",
        *(f"    {line}" for form in forms for line in form),
        f"): {result};",
    ]


def _description(tool: Tool, taken: TypeWriter) -> str:
    """Returns the docstring, and what the type of a function cannot express."""
    paragraphs = [tool.description]
    # A writer of its own: what only a comment names is not imported.
    other_writer = taken.another()
    other = tool.signature.other
    if other is not None and tool.signature.named:
        paragraphs.append(f"Any other name takes `{other_writer.written(other)}`.")
    if tool.input is not None:
        reads = f"Reads an input stream of `{other_writer.written(tool.input)}`."
        paragraphs.append(reads)
    paragraphs.append(conditions(_checked(tool)))
    # But exported, for callers that make one.
    taken.objects = {**other_writer.objects, **taken.objects}
    return "\n\n".join(filter(None, paragraphs))


def _checked(tool: Tool) -> Iterator[tuple[str, Check]]:
    """Yields all that a call sends, with names for the comment."""
    signature = tool.signature
    yield from signature.named.items()
    if signature.rest is not None:
        yield "any further one", signature.rest
    if signature.other is not None:
        yield "any other name", signature.other
    if tool.input is not None:
        yield "an item of the input", tool.input


def _forms(signature: Signature, taken: TypeWriter) -> list[list[str]]:
    """Returns the ways to give arguments: by name, and by position if that can do."""
    if not signature.named and signature.rest is None and signature.other is None:
        return []
    forms = [
        _form("{", fields, ";", "}") if fields else ["| Record<string, never>"]
        for fields in _by_name(signature, taken)
    ]
    if {key for key, _, _ in signature.positional}.issuperset(signature.required):
        named = labels([*(key for key, _, _ in signature.positional), "rest"])
        # Of these, one with a default may come before one without.
        least = signature.required_positional
        positional = [
            f"{named[i]}{'' if i < least else '?'}: {taken.written(check)}"
            for i, (_, check, _) in enumerate(signature.positional)
        ]
        if signature.rest is not None:
            positional.append(f"...{named[-1]}: Array<{taken.written(signature.rest)}>")
        forms.append(_form("readonly [", positional, ",", "]"))
    return forms


def _by_name(signature: Signature, taken: TypeWriter) -> Iterator[list[str]]:
    """Yields the fields of each way to give arguments by name.

    There are several where Python has no names for those with a default: one of
    these can be given only if all before it are.
    """
    required = signature.required
    optional = [key for key in signature.only_positional if key not in required]
    for i in range(max(len(optional), 1)):
        fields = [
            f"{name(key)}?: undefined"
            if key in optional[i + 1 :]
            else taken.field(key, check, required=key in [*required, *optional[:i]])
            for key, check in signature.named.items()
        ]
        if signature.other is not None:
            # TypeScript has no type for "all other names": the named ones are included.
            other = "unknown" if fields else taken.written(signature.other)
            fields.append(f"[name: string]: {other}")
        yield fields


def _form(left: str, parts: list[str], separator: str, right: str) -> list[str]:
    """Returns one member of a union, a line for each part where one is too long."""
    space = " " if separator == ";" else ""
    line = f"| {left}{space}{f'{separator} '.join(parts)}{space}{right}"
    if len(line) <= _WIDTH:
        return [line]
    return [f"| {left}", *(f"    {part}{separator}" for part in parts), f"  {right}"]
