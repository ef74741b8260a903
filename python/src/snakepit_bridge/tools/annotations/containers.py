"""Checks of what has parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from snakepit_bridge.tools.annotations.check import Check, Mismatch, Schema
from snakepit_bridge.values.no_image import Path, key_place

__all__ = [
    "DictCheck",
    "ListCheck",
    "SetCheck",
    "TupleCheck",
    "UnionCheck",
    "VariadicTupleCheck",
]


def _check_items(values: Sequence[Any], item: Check, path: Path) -> list[Any] | None:
    """Returns the items for the tool; None if they are those of `values`."""
    if item.exact.issuperset(map(type, values)):
        return None
    checked = [item.check(value, (path, i)) for i, value in enumerate(values)]
    changed = any(a is not b for a, b in zip(checked, values, strict=True))
    return checked if changed else None


class ListCheck(Check):
    """`list[X]`, and `Sequence[X]` and wider ones, which a tuple is too."""

    def __init__(self, item: Check, name: str = "list") -> None:
        self.item = item
        self.name = name
        self._kinds = (list,) if name == "list" else (list, tuple)
        self.expected = f"{name}[{item.expected}]"
        self.converts = item.converts

    def check(self, value: Any, path: Path) -> Any:
        if type(value) not in self._kinds:
            raise self.mismatch(value, path)
        checked = _check_items(value, self.item, path)
        return value if checked is None else type(value)(checked)

    def schema(self) -> Schema:
        return {"type": "array", "items": self.item.schema()}


class VariadicTupleCheck(Check):
    """`tuple[X, ...]`; a list becomes one, for the host may have no other way."""

    converts = True

    def __init__(self, item: Check) -> None:
        self.item = item
        self.expected = f"tuple[{item.expected}, ...]"

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is not tuple and type(value) is not list:
            raise self.mismatch(value, path)
        checked = _check_items(value, self.item, path)
        return tuple(value) if checked is None else tuple(checked)

    def schema(self) -> Schema:
        return {"type": "array", "items": self.item.schema()}


class TupleCheck(Check):
    """`tuple[X, Y]`; a list becomes one, for the host may have no other way."""

    converts = True

    def __init__(self, items: Sequence[Check]) -> None:
        self.items = list(items)
        self.expected = f"tuple[{', '.join(i.expected for i in items) or '()'}]"

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is not tuple and type(value) is not list:
            raise self.mismatch(value, path)
        if len(value) != len(self.items):
            got = f"{type(value).__name__} of {len(value)}"
            raise Mismatch(path, self.expected, got)
        pairs = zip(self.items, value, strict=True)
        return tuple(
            item.check(part, (path, i)) for i, (item, part) in enumerate(pairs)
        )

    def schema(self) -> Schema:
        return {
            "type": "array",
            "prefixItems": [item.schema() for item in self.items],
            "minItems": len(self.items),
            "maxItems": len(self.items),
        }


class SetCheck(Check):
    """`set[X]` and `frozenset[X]`, made of the set that arrives."""

    def __init__(self, item: Check, kind: type = set) -> None:
        self.item = item
        self._kind = kind
        self.expected = f"{kind.__name__}[{item.expected}]"
        self.converts = item.converts or kind is frozenset

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is not set:
            raise self.mismatch(value, path)
        checked = _check_items(list(value), self.item, path)
        if checked is None:
            return value if self._kind is set else self._kind(value)
        return self._kind(checked)

    def schema(self) -> Schema:
        return {"type": "array", "uniqueItems": True, "items": self.item.schema()}


class DictCheck(Check):
    """`dict[K, V]` and `Mapping[K, V]`."""

    def __init__(self, key: Check, item: Check, name: str = "dict") -> None:
        self.key = key
        self.item = item
        self.expected = f"{name}[{key.expected}, {item.expected}]"
        self.converts = key.converts or item.converts

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is not dict:
            raise self.mismatch(value, path)
        keys_pass = self.key.exact.issuperset(map(type, value))
        items_pass = self.item.exact.issuperset(map(type, value.values()))
        if keys_pass and items_pass:
            return value
        checked: dict[Any, Any] = {}
        for i, (key, item) in enumerate(value.items()):
            place = key_place(key) if isinstance(key, str) else f"<value {i}>"
            checked_key = self.key.check(key, (path, f"<key {i}>"))
            checked[checked_key] = self.item.check(item, (path, place))
        return checked

    def schema(self) -> Schema:
        schema: Schema = {"type": "object"}
        items = self.item.schema()
        if items:
            schema["additionalProperties"] = items
        return schema


class UnionCheck(Check):
    """`X | Y`, `Union` and `Optional`: the first that takes the value as it is."""

    def __init__(self, members: Sequence[Check]) -> None:
        self.members = list(members)
        self._tried = sorted(members, key=lambda member: member.converts)
        self.expected = " | ".join(member.expected for member in members)
        self.exact = frozenset[type]().union(*(m.exact for m in members))
        self.converts = any(member.converts for member in members)

    def check(self, value: Any, path: Path) -> Any:
        if type(value) in self.exact:
            return value
        inside: Mismatch | None = None
        for member in self._tried:
            try:
                return member.check(value, path)
            except Mismatch as mismatch:
                # A member that took the value and stumbled over a part of it
                # has the better story.
                if mismatch.path is not path and inside is None:
                    inside = mismatch
        raise inside or self.mismatch(value, path)

    def schema(self) -> Schema:
        return {"anyOf": [member.schema() for member in self.members]}
