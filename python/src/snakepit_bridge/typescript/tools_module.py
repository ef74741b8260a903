"""Tools as the TypeScript module that `createPool<Tools>` of `@snakepit/core` takes."""

from __future__ import annotations

from collections.abc import Iterable

from snakepit_bridge.tools.signature import Signature
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.typescript.text import comment, label, name
from snakepit_bridge.typescript.type_writer import TypeWriter

__all__ = ["tools_module"]

# Of a method or of an argument in it, without the indent.
_WIDTH = 78


def tools_module(
    tools: Iterable[Tool], command: str, *, safe_integers: bool = False
) -> str:
    """Returns the text of a module that exports the type `Tools`.

    Args:
        tools: in the order in which they are to be written.
        command: what makes this text; one line.
        safe_integers: every integer in an answer is a `number`, by promise of
            who asks for it; else those beyond 2**53 are a `bigint`.
    """
    taken = TypeWriter(sent=True)
    answered = TypeWriter(sent=False, safe_integers=safe_integers)
    methods = [f"  {li}" for tool in tools for li in _method(tool, taken, answered)]
    names = ", ".join(sorted(taken.imports | answered.imports))
    imports = (
        ["", f'import type {{ {names} }} from "@snakepit/adapter-grpc-python";']
        if names
        else []
    )
    lines = [
        f"// Made by `{command}`.",
        *imports,
        "",
        "/** The tools: what each takes, and what it answers if it keeps to its annotations. */",
        "export type Tools = {",
        *methods,
        "};",
    ]
    return "".join(f"{line}\n" for line in lines)


def _method(tool: Tool, taken: TypeWriter, answered: TypeWriter) -> list[str]:
    result = answered.written(tool.signature.result)
    if tool.kind.streams:
        result = f"AsyncIterable<{result}>"
    documented = comment(_description(tool))
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


def _description(tool: Tool) -> str:
    """Returns the docstring, and what the type of a function cannot say."""
    paragraphs = [tool.description]
    # Its own: what only a comment names is not imported.
    taken = TypeWriter(sent=True)
    other = tool.signature.other
    if other is not None and tool.signature.named:
        paragraphs.append(f"Any other name takes `{taken.written(other)}`.")
    if tool.input is not None:
        reads = f"Reads an input stream of `{taken.written(tool.input)}`."
        paragraphs.append(reads)
    return "\n\n".join(filter(None, paragraphs))


def _forms(signature: Signature, taken: TypeWriter) -> list[list[str]]:
    """Returns the ways to give arguments: by name, and by position if that can do."""
    if not signature.named and signature.rest is None and signature.other is None:
        return []
    by_name = [
        taken.field(key, check, required=key in signature.required)
        for key, check in signature.named.items()
    ]
    if signature.other is not None:
        # TypeScript has no type for the other names only: the named are among these.
        other = "unknown" if by_name else taken.written(signature.other)
        by_name.append(f"[name: string]: {other}")
    forms = [_form("{", by_name, ";", "}") if by_name else ["| Record<string, never>"]]
    if {key for key, _, _ in signature.positional}.issuperset(signature.required):
        by_place = [
            f"{label(key, i)}{'' if key in signature.required else '?'}: {taken.written(check)}"
            for i, (key, check, _) in enumerate(signature.positional)
        ]
        if signature.rest is not None:
            by_place.append(f"...rest: Array<{taken.written(signature.rest)}>")
        forms.append(_form("readonly [", by_place, ",", "]"))
    return forms


def _form(left: str, parts: list[str], separator: str, right: str) -> list[str]:
    """Returns one member of a union, a line for each part where one is too long."""
    space = " " if separator == ";" else ""
    line = f"| {left}{space}{f'{separator} '.join(parts)}{space}{right}"
    if len(line) <= _WIDTH:
        return [line]
    return [f"| {left}", *(f"    {part}{separator}" for part in parts), f"  {right}"]
