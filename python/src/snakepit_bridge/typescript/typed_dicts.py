"""Writes typed dicts as TypeScript types with a name, so that they can contain themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from snakepit_bridge.tools.annotations.check import Check
from snakepit_bridge.tools.annotations.constrained import ConstrainedCheck
from snakepit_bridge.typescript.text import comment, object_type, type_name
from snakepit_bridge.typescript.type_writer import IMPORTED, TypeWriter

__all__ = ["conditions", "dict_names", "dict_types"]

_WIDTH = 80
# A type of one of these names would hide what is written.
_TAKEN = IMPORTED | {
    "Tools",
    *("Array", "ReadonlyArray", "Set", "ReadonlySet", "Map", "ReadonlyMap"),
    *("Record", "Partial", "Date", "AsyncIterable", "ArrayBuffer", "Uint8Array"),
    *("Int8Array", "Int16Array", "Int32Array", "BigInt64Array"),
    *("Uint16Array", "Uint32Array", "BigUint64Array", "Float32Array", "Float64Array"),
}


class _Written(NamedTuple):
    """A typed dict in one direction."""

    fields: list[str]
    conditions: str
    imports: set[str]
    within: frozenset[type]


def dict_names(
    taken: TypeWriter, answered: TypeWriter
) -> tuple[dict[type, str], dict[type, str]]:
    """Returns the names of the typed dicts that tools take, and of those that they return.

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
    names: tuple[dict[type, str], dict[type, str]] = ({}, {})
    used = set(_TAKEN)
    for kind in {**sent, **got}:
        ends = ("Argument", "Result") if kind in apart else ("", "")
        name = type_name(kind.__name__)
        count = 1
        while not used.isdisjoint(wanted := [f"{name}{end}" for end in ends]):
            count += 1
            name = f"{type_name(kind.__name__)}{count}"
        used.update(wanted)
        names[0][kind], names[1][kind] = wanted
    return names


def dict_types(taken: TypeWriter, answered: TypeWriter) -> list[str]:
    """Returns the lines of the typed dicts that were written, and of those in them.

    The writers import what these name from then on.
    """
    sent, got = _reached(taken), _reached(answered)
    types: dict[str, list[str]] = {}
    for kind in {**sent, **got}:
        for writer, found in ((taken, sent), (answered, got)):
            name = writer.dict_name(kind)
            if kind in found and name not in types:
                writer.imports |= found[kind].imports
                types[name] = list(_lines(name, kind, found[kind]))
    return [line for lines in types.values() for line in ["", *lines]]


def _reached(writer: TypeWriter) -> dict[type, _Written]:
    """Returns the typed dicts that were written, and those in them."""
    found: dict[type, _Written] = {}
    waiting = list(writer.dicts.items())
    for kind, check in waiting:
        if kind not in found:
            part = writer.another()
            fields = part.fields(check)
            within = frozenset(part.dicts)
            found[kind] = _Written(
                fields, conditions(check.items.items()), part.imports, within
            )
            waiting += part.dicts.items()
    return found


def _lines(name: str, kind: type, written: _Written) -> Iterator[str]:
    # Not `__doc__`: a class without a docstring inherits that of `dict`.
    documented = kind.__dict__.get("__doc__")
    documented = inspect.cleandoc(documented) if documented else ""
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
