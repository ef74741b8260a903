"""Writes the TypeScript module for `createPool<Tools>` of `@snakepit/core`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from snakepit_bridge.tools.annotations.check import Check
from snakepit_bridge.tools.signature import Signature
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.typescript.held_types import HeldTypes, held_types
from snakepit_bridge.typescript.object_types import (
    TAKEN,
    conditions,
    object_names,
    object_types,
)
from snakepit_bridge.typescript.text import comment, labels, name
from snakepit_bridge.typescript.type_writer import IMPORTED, TypeWriter

__all__ = ["tools_module"]

# Of a method or of an argument in it, without the indent.
_WIDTH = 78


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
        by_place = [
            f"{named[i]}{'' if i < least else '?'}: {taken.written(check)}"
            for i, (_, check, _) in enumerate(signature.positional)
        ]
        if signature.rest is not None:
            by_place.append(f"...{named[-1]}: Array<{taken.written(signature.rest)}>")
        forms.append(_form("readonly [", by_place, ",", "]"))
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
