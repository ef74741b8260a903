"""Writes annotations as TypeScript types, by the tables of docs/values.md."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
import sysconfig
import typing
from abc import ABC
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple
from unicodedata import ucd_3_2_0

from snakepit_bridge.tools.annotations.check import Check, ObjectCheck
from snakepit_bridge.tools.annotations.constraints import ConstrainedCheck
from snakepit_bridge.tools.annotations.containers import (
    DictCheck,
    SequenceCheck,
    SetCheck,
    TupleCheck,
    UnionCheck,
)
from snakepit_bridge.tools.annotations.handles import HandleCheck
from snakepit_bridge.tools.annotations.leaves import (
    ArrayCheck,
    BytesCheck,
    FloatCheck,
    LiteralCheck,
    ScalarCheck,
)
from snakepit_bridge.tools.annotations.standard import EnumCheck, WrittenCheck
from snakepit_bridge.values.value_not_transferable import has_digits

# Narrower than TypeScript's rule: which other letters it accepts depends on its Unicode
# version.
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)

# What no parameter can be named, in strict code. `this` would be none, but a type.
_RESERVED = re.compile(
    "arguments|await|break|case|catch|class|const|continue|debugger|default|delete|"
    "do|else|enum|eval|export|extends|false|finally|for|function|if|implements|"
    "import|in|instanceof|interface|let|new|null|package|private|protected|public|"
    "return|static|super|switch|this|throw|true|try|typeof|var|void|while|with|yield"
)


def name(text: str) -> str:
    """Returns the name of a property or method."""
    # `new(): …` is what a constructor looks like.
    is_identifier = _IDENTIFIER.fullmatch(text) and text != "new"
    return text if is_identifier else literal(text)


def labels(texts: Sequence[str]) -> list[str]:
    """Returns labels of a tuple's items, or names of parameters, each another; they
    cannot be quoted."""
    names: list[str] = []
    for i, text in enumerate(texts):
        label = f"{text}_" if _RESERVED.fullmatch(text) else text
        if not _IDENTIFIER.fullmatch(text) or label in names:
            label = f"_{i}"
        while label in names or (label != text and label in texts):
            label = f"_{label}"
        names.append(label)
    return names


def type_name(text: str) -> str:
    """Returns the name of a type, such as `PageOfInt` for `Page[int]`.

    It is never a keyword, as these begin with a small letter.
    """
    # Of `typing.List[list]`, a reader needs only `list`.
    words = re.sub(r"\b\w+\.", "", text)
    for sign, word in (("[", " of "), (",", " and "), ("|", " or "), ("]", " ")):
        words = words.replace(sign, word)
    capital = "".join(word[0].upper() + word[1:] for word in words.split())
    safe = "".join(c if _is_of_names(c) else "_" for c in capital)
    return safe if safe and not safe[0].isdigit() else f"_{safe}"


def _is_of_names(character: str) -> bool:
    """Returns whether every version of TypeScript takes it in a name: it has been a
    letter since the Unicode of old, or is of ASCII."""
    if character.isascii():
        return character.isalnum() or character in "_$"
    return ucd_3_2_0.category(character).startswith("L")


def literal(value: str | int | bool | None) -> str:
    """Returns the type of one value, as it arrives."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=not value.isprintable())
    if type(value) is int and abs(value) >= 2**53:
        return f"{value if has_digits(value) else hex(value)}n"
    return json.dumps(value)


def object_type(fields: Iterable[str]) -> str:
    """Returns the type of an object with these `name: type`."""
    inside = "; ".join(fields)
    return f"{{ {inside} }}" if inside else "Record<string, never>"


def comment(text: str) -> list[str]:
    """Returns the lines of a doc comment that cannot be left; none of no text."""
    # A surrogate by itself cannot be written into a file.
    safe = text.encode("utf-8", "replace").decode().replace("*/", r"*\/")
    # A line with an `@` in front would be a tag, or a directive of the compiler.
    lines = [re.sub(r"^(\s*)@", r"\1\\@", line.rstrip()) for line in safe.splitlines()]
    if len(lines) < 2:
        return [f"/** {line} */" for line in lines]
    return ["/**", *(f" * {line}".rstrip() for line in lines), " */"]


_SCALARS = {
    type(None): ["null"],
    bool: ["boolean"],
    date: ["PlainDate"],
    datetime: ["Date", "PlainDateTime"],
    int: ["number", "bigint"],
    str: ["string"],
}
# Typed arrays that arrive as arrays of numbers; `Uint8Array` is bytes.
_VIEWS = {
    "int8": "Int8Array",
    "int16": "Int16Array",
    "int32": "Int32Array",
    "int64": "BigInt64Array",
    "uint16": "Uint16Array",
    "uint32": "Uint32Array",
    "uint64": "BigUint64Array",
    "float32": "Float32Array",
    "float64": "Float64Array",
}
# Names of types, and how they are imported: what, and from where.
IMPORTED = {
    **{
        name: (name, "@snakepit/adapter-python")
        for name in (
            "Float",
            "Handle",
            "NdArray",
            "PlainDate",
            "PlainDateTime",
            "Tuple",
        )
    },
    "ArrowTable": ("Table as ArrowTable", "apache-arrow"),
}


# Where libraries are: their classes are large, and have few annotations.
_INSTALLED = tuple(
    os.path.join(os.path.realpath(path), "")
    for kind, path in sysconfig.get_paths().items()
    if kind.endswith("lib")
)


_PLAIN_BASES = (object, ABC, typing.Generic, typing.Protocol)


def _is_own(kind: type) -> bool:
    """Returns whether a class is written in Python, by the author of the tools."""
    if kind in _PLAIN_BASES:
        return False
    others = [base for base in kind.__mro__ if base not in _PLAIN_BASES]
    return all(map(_is_own_alone, others))


def _is_own_alone(kind: type) -> bool:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file is not None and not os.path.realpath(file).startswith(_INSTALLED)


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


class TypeWriter:
    """Writes types for one direction: all that a tool takes, or all that it can return.

    Attributes:
        imports: names of `IMPORTED` that were written.
        objects: object types whose names were written, by their classes.
    """

    def __init__(
        self,
        *,
        sent: bool,
        safe_integers: bool = False,
        names: Mapping[Any, str] | None = None,
        held: HeldTypes | None = None,
    ) -> None:
        """Starts with nothing written.

        Args:
            sent: whether TypeScript sends the values; otherwise it receives them.
            safe_integers: every integer that TypeScript receives is a `number`.
            names: names of object types; the default is that of the class.
            held: the types of handles.
        """
        self._held = HeldTypes() if held is None else held
        self.imports: set[str] = set()
        self.objects: dict[Any, ObjectCheck] = {}
        self._sent = sent
        self._safe_integers = safe_integers
        self._names = names or {}

    def another(
        self,
        names: Mapping[Any, str] | None = None,
        held: HeldTypes | None = None,
    ) -> TypeWriter:
        """Returns a writer with the same settings, and with these names or the same ones."""
        return TypeWriter(
            sent=self._sent,
            safe_integers=self._safe_integers,
            names=self._names if names is None else names,
            held=self._held if held is None else held,
        )

    def name_of(self, kind: Any, name: str) -> str:
        """Returns the name of an object type, whose plain name is given."""
        return self._names.get(kind) or name

    def fields(self, check: ObjectCheck) -> list[str]:
        """Returns `name: type` of each key of an object type."""
        return [
            self.field(key, item, required=key in check.required)
            for key, item in check.items.items()
        ]

    def written(self, check: Check, *, hashed: bool = False) -> str:
        """Returns the type, a union where it is one."""
        return " | ".join(self.members(check, hashed=hashed))

    def members(self, check: Check, *, hashed: bool = False) -> list[str]:
        """Returns the members of the union that the type is; only `unknown` for anything.

        Args:
            check: the annotation.
            hashed: whether it is a key or an item of a set, which cannot be a list.
        """
        imports, objects = set(self.imports), dict(self.objects)
        members = self._members(check, hashed)
        if members == ["unknown"]:
            # The whole type is unknown: imports for its parts are not needed.
            self.imports, self.objects = imports, objects
        else:
            self.imports |= IMPORTED.keys() & {m.split("<")[0] for m in members}
        return members

    def _members(self, check: Check, hashed: bool) -> list[str]:
        if check.described is not None:
            return self.members(check.described, hashed=hashed)
        match check:
            case ConstrainedCheck():
                return self.members(check.inner, hashed=hashed)
            case UnionCheck():
                return union(
                    part
                    for member in check.members
                    for part in self.members(member, hashed=hashed)
                )
            case HandleCheck():
                return [self._held.handle(check.kind)]
            case LiteralCheck() | EnumCheck():
                return union(map(literal, check.values))
            case ScalarCheck():
                safe = self._safe_integers and check.kind is int
                return ["number"] if safe else _SCALARS[check.kind]
            case WrittenCheck():
                members = check.sent if self._sent else check.received
                # An object arrives as a dict, which cannot be in a Python set.
                is_dict = hashed and self._sent and members[0].startswith("{")
                return ["never"] if is_dict else [*members]
            case FloatCheck():
                return ["number", "bigint", "Float"] if self._sent else ["number"]
            case BytesCheck():
                return ["Uint8Array", "ArrayBuffer"] if self._sent else ["Uint8Array"]
            case ArrayCheck():
                return self._array(check)
            case SequenceCheck(name="list") if hashed:
                return ["never"]
            case SequenceCheck() if hashed and self._sent:
                return [f"Tuple<{self.written(check.item, hashed=True)}>"]
            case SequenceCheck(name="tuple") if hashed or not self._sent:
                return [f"Tuple<{self.written(check.item, hashed=hashed)}>"]
            case SequenceCheck() if self._sent or check.name in ("list", "deque"):
                return [self._list(check.item)]
            case TupleCheck():
                return [self._tuple(check, hashed)]
            case SetCheck():
                kind = "ReadonlySet" if self._sent else "Set"
                return [f"{kind}<{self.written(check.item, hashed=True)}>"]
            case ObjectCheck():
                self.objects.setdefault(check.kind, check)
                return [self.name_of(check.kind, base_name(check))]
            case DictCheck():
                return self._dict(check)
            case _:
                # `Any`; and a result that is a `Sequence` or wider, as a text is.
                return ["unknown"]

    def field(self, key: str, check: Check, *, required: bool) -> str:
        """Returns `name: type` of an object."""
        members = self.members(check)
        if required:
            return f"{name(key)}: {' | '.join(members)}"
        # A property that is undefined is not sent.
        members = union([*members, "undefined"]) if self._sent else members
        return f"{name(key)}?: {' | '.join(members)}"

    def _array(self, check: ArrayCheck) -> list[str]:
        dtypes = check.dtypes
        # Times have a dtype for each unit.
        if dtypes is None or any("[" in dtype for dtype in dtypes):
            array = "NdArray"
        else:
            array = f"NdArray<{' | '.join(map(literal, dtypes))}>"
        # A typed array arrives with one dimension.
        if not self._sent or not check.takes_flat:
            return [array]
        views = (v for k, v in _VIEWS.items() if dtypes is None or k in dtypes)
        return [array, *views]

    def _list(self, item: Check) -> str:
        written = self.written(item)
        if written.isidentifier():
            return f"readonly {written}[]" if self._sent else f"{written}[]"
        return f"{'ReadonlyArray' if self._sent else 'Array'}<{written}>"

    def _tuple(self, check: TupleCheck, hashed: bool) -> str:
        if hashed:
            parts = self.members(UnionCheck(check.parts), hashed=True)
            return f"Tuple<{' | '.join(parts) or 'never'}>"
        written = list(map(self.written, check.parts))
        if check.rest is not None:
            index = len(check.before)
            written[index] = f"...Array<{written[index]}>"
        items = ", ".join(written)
        return f"readonly [{items}]" if self._sent else f"[{items}]"

    def _dict(self, check: DictCheck) -> list[str]:
        """Returns an object where all keys are text, as in a dict without entries."""
        keys = self.members(check.key, hashed=True)
        key, item = " | ".join(keys), self.written(check.item)
        text = [k for k in keys if k == "string" or k.startswith('"')]
        if text == keys:
            record = f"Record<{key}, {item}>"
            objects = [record if "string" in text else f"Partial<{record}>"]
        elif text or keys == ["unknown"]:
            objects = [f"Record<string, {item}>"]
        else:
            objects = ["Record<string, never>"]
        if self._sent:
            return [*objects, f"ReadonlyMap<{key}, {item}>"]
        return objects if text == keys else [*objects, f"Map<{key}, {item}>"]


def base_name(check: ObjectCheck) -> str:
    """Returns the name of an object type: `PageOfUser` for `Page[User]`."""
    return type_name(check.expected)


def union(members: Iterable[str]) -> list[str]:
    """Returns each member once; only `unknown` where that is one of them."""
    distinct = list(dict.fromkeys(members))
    return ["unknown"] if "unknown" in distinct else distinct


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
        for writer, written in ((taken, sent), (answered, got)):
            if kind not in written:
                continue
            name = writer.name_of(kind, written[kind].name)
            if name not in types:
                writer.imports |= written[kind].imports
                types[name] = list(_lines(name, written[kind]))
    return [line for lines in types.values() for line in ["", *lines]]


def _reached(writer: TypeWriter) -> dict[Any, _Written]:
    """Returns the object types that were written, and those in them."""
    reached: dict[Any, _Written] = {}
    waiting = list(writer.objects.items())
    for kind, check in waiting:
        if kind not in reached:
            part = writer.another()
            fields = part.fields(check)
            reached[kind] = _Written(
                name=base_name(check),
                documentation=check.documentation,
                fields=fields,
                conditions=conditions(check.items.items()),
                imports=part.imports,
                within=frozenset(part.objects),
            )
            waiting += part.objects.items()
    return reached


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
    texts = [
        f"`{name}: {check.expected}`"
        for name, check in checks
        if _is_constrained(check)
    ]
    return f"Constraints: {', '.join(texts)}." if texts else ""


def _is_constrained(check: Check) -> bool:
    return isinstance(check, ConstrainedCheck) or any(map(_is_constrained, check.parts))
