"""Writes object types as TypeScript types with a name, so that they can contain themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from snakepit_bridge.tools.annotations.check import Check
from snakepit_bridge.tools.annotations.constrained import ConstrainedCheck
from snakepit_bridge.typescript.text import comment, object_type
from snakepit_bridge.typescript.type_writer import IMPORTED, TypeWriter, plain_name

__all__ = ["TAKEN", "conditions", "object_names", "object_types"]

_WIDTH = 80
# A type with one of these names would hide a type of the language.
TAKEN = IMPORTED.keys() | {
    "Tools",
    *("Array", "ReadonlyArray", "Set", "ReadonlySet", "Map", "ReadonlyMap"),
    *(
        "Record",
        "Partial",
        "Date",
        "Iterable",
        "AsyncIterable",
        "ArrayBuffer",
        "Uint8Array",
    ),
    *("Int8Array", "Int16Array", "Int32Array", "BigInt64Array"),
    *("Uint16Array", "Uint32Array", "BigUint64Array", "Float32Array", "Float64Array"),
}


class _Written(NamedTuple):
    """An object type in one direction."""

    name: str
    documentation: str
    fields: list[str]
    conditions: str
    imports: set[str]
    within: frozenset[Any]


def object_names(
    taken: TypeWriter, answered: TypeWriter
) -> tuple[dict[Any, str], dict[Any, str]]:
    """Returns the names of the object types that tools take, and of those that they return.

    One that is the same in both directions has one name.

    Args:
        taken: has written all that tools take.
        answered: has written all that tools return.
    """
    sent, got = _reached(taken), _reached(answered)
    apart = {kind for kind in sent if kind in got and sent[kind] != got[kind]}
    while more := {
        kind for kind in {*sent} & {*got} - apart if sent[kind].within & apart
    }:
        apart |= more
    names: tuple[dict[Any, str], dict[Any, str]] = ({}, {})
    used = set(TAKEN)
    for kind in {**sent, **got}:
        ends = ("Argument", "Result") if kind in apart else ("", "")
        wanted_name = name = (sent.get(kind) or got[kind]).name
        count = 1
        while not used.isdisjoint(wanted := [f"{name}{end}" for end in ends]):
            count += 1
            name = f"{wanted_name}{count}"
        used.update(wanted)
        names[0][kind], names[1][kind] = wanted
    return names


def object_types(taken: TypeWriter, answered: TypeWriter) -> list[str]:
    """Returns the lines of the object types that were written, and of those in them.

    The writers import what these name from then on.
    """
    sent, got = _reached(taken), _reached(answered)
    types: dict[str, list[str]] = {}
    for kind in {**sent, **got}:
        for writer, found in ((taken, sent), (answered, got)):
            if kind not in found:
                continue
            name = writer.name_of(kind, found[kind].name)
            if name not in types:
                writer.imports |= found[kind].imports
                types[name] = list(_lines(name, found[kind]))
    return [line for lines in types.values() for line in ["", *lines]]


def _reached(writer: TypeWriter) -> dict[Any, _Written]:
    """Returns the object types that were written, and those in them."""
    found: dict[Any, _Written] = {}
    waiting = list(writer.objects.items())
    for kind, check in waiting:
        if kind not in found:
            part = writer.another()
            fields = part.fields(check)
            found[kind] = _Written(
                name=plain_name(check),
                documentation=check.documentation,
                fields=fields,
                conditions=conditions(check.items.items()),
                imports=part.imports,
                within=frozenset(part.objects),
            )
            waiting += part.objects.items()
    return found


def _lines(name: str, written: _Written) -> Iterator[str]:
    documented = inspect.cleandoc(written.documentation)
    yield from comment("\n\n".join(filter(None, [documented, written.conditions])))
    line = f"export type {name} = {object_type(written.fields)};"
    if len(line) <= _WIDTH:
        yield line
    else:
        yield f"export type {name} = {{"
        yield from (f"  {field};" for field in written.fields)
        yield "};"


def conditions(checks: Iterable[tuple[str, Check]]) -> str:
    """Returns a paragraph with the Python types that have constraints; it may be empty."""
    found = [
        f"`{name}: {check.expected}`"
        for name, check in checks
        if _is_constrained(check)
    ]
    return f"Constraints: {', '.join(found)}." if found else ""


def _is_constrained(check: Check) -> bool:
    return isinstance(check, ConstrainedCheck) or any(map(_is_constrained, check.parts))
