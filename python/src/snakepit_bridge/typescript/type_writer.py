"""Writes annotations as TypeScript types, by the tables of docs/values.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any

from snakepit_bridge.tools.annotations.check import Check
from snakepit_bridge.tools.annotations.constrained import ConstrainedCheck
from snakepit_bridge.tools.annotations.containers import (
    DictCheck,
    RestTupleCheck,
    SequenceCheck,
    SetCheck,
    TupleCheck,
)
from snakepit_bridge.tools.annotations.handles import HandleCheck
from snakepit_bridge.tools.annotations.leaves import (
    ArrayCheck,
    BytesCheck,
    FloatCheck,
    LiteralCheck,
    ScalarCheck,
)
from snakepit_bridge.tools.annotations.named import ObjectCheck
from snakepit_bridge.tools.annotations.standard import EnumCheck, WrittenCheck
from snakepit_bridge.tools.annotations.unions import UnionCheck
from snakepit_bridge.typescript.held_types import HeldTypes
from snakepit_bridge.typescript.text import literal, name, type_name

__all__ = ["IMPORTED", "TypeWriter", "plain_name", "union"]

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
            case TupleCheck() | RestTupleCheck():
                return [self._tuple(check, hashed)]
            case SetCheck():
                kind = "ReadonlySet" if self._sent else "Set"
                return [f"{kind}<{self.written(check.item, hashed=True)}>"]
            case ObjectCheck():
                self.objects.setdefault(check.kind, check)
                return [self.name_of(check.kind, plain_name(check))]
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

    def _tuple(self, check: TupleCheck | RestTupleCheck, hashed: bool) -> str:
        if hashed:
            parts = self.members(UnionCheck(check.parts), hashed=True)
            return f"Tuple<{' | '.join(parts) or 'never'}>"
        written = list(map(self.written, check.parts))
        if isinstance(check, RestTupleCheck):
            place = len(check.before)
            written[place] = f"...Array<{written[place]}>"
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


def plain_name(check: ObjectCheck) -> str:
    """Returns the name of an object type: `PageOfUser` for `Page[User]`."""
    return type_name(check.expected)


def union(members: Iterable[str]) -> list[str]:
    """Returns each member once; only `unknown` where that is one of them."""
    distinct = list(dict.fromkeys(members))
    return ["unknown"] if "unknown" in distinct else distinct
