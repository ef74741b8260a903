"""Checks of what has parts."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from snakepit_bridge.tools.annotations.check import Check, Definitions, Mismatch, Schema
from snakepit_bridge.values.no_image import Path, key_place

__all__ = [
    "DictCheck",
    "ListCheck",
    "SetCheck",
    "TupleCheck",
    "VariadicTupleCheck",
]


def _check_items(values: Sequence[Any], item: Check, path: Path) -> list[Any] | None:
    """Returns the items for the tool; None if they are those of `values`."""
    if item.exact.issuperset(map(type, values)):
        return None
    checked = [item.check(value, (path, i)) for i, value in enumerate(values)]
    changed = any(a is not b for a, b in zip(checked, values, strict=True))
    return checked if changed else None


def _hashed(check: Check, given: Any, checked: Any, path: Path) -> Any:
    """Returns what is checked, unless it became a list, which no set and no key can be."""
    try:
        hash(checked)
    except TypeError:
        raise check.mismatch(given, path) from None
    return checked


class ListCheck(Check):
    """`list[X]`, and `Sequence[X]` and wider ones, which a tuple is too.

    A tuple becomes a list where that is asked for: one that a tool answered is an
    array like any other for the host, which may well send it on.
    """

    def __init__(self, item: Check, name: str = "list") -> None:
        self.item = item
        self.name = name
        self.expected = f"{name}[{item.expected}]"

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is not list and type(value) is not tuple:
            raise self.mismatch(value, path)
        kind = list if self.name == "list" else type(value)
        checked = _check_items(value, self.item, path)
        if checked is None and type(value) is kind:
            return value
        return kind(value if checked is None else checked)

    def schema(self, definitions: Definitions) -> Schema:
        return {"type": "array", "items": self.item.schema(definitions)}


class VariadicTupleCheck(Check):
    """`tuple[X, ...]`; a list becomes one, for the host may have no other way."""

    def __init__(self, item: Check) -> None:
        self.item = item
        self.expected = f"tuple[{item.expected}, ...]"

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is not tuple and type(value) is not list:
            raise self.mismatch(value, path)
        checked = _check_items(value, self.item, path)
        return tuple(value) if checked is None else tuple(checked)

    def schema(self, definitions: Definitions) -> Schema:
        return {"type": "array", "items": self.item.schema(definitions)}


class TupleCheck(Check):
    """`tuple[X, Y]`; a list becomes one, for the host may have no other way."""

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
        checked = tuple(
            item.check(part, (path, i)) for i, (item, part) in enumerate(pairs)
        )
        same = type(value) is tuple and all(map(operator.is_, checked, value))
        return value if same else checked

    def schema(self, definitions: Definitions) -> Schema:
        return {
            "type": "array",
            "prefixItems": [item.schema(definitions) for item in self.items],
            "minItems": len(self.items),
            "maxItems": len(self.items),
        }


class SetCheck(Check):
    """`set[X]` and `frozenset[X]`, made of the set that arrives."""

    def __init__(self, item: Check, kind: type = set) -> None:
        self.item = item
        self._kind = kind
        self.expected = f"{kind.__name__}[{item.expected}]"

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is not set:
            raise self.mismatch(value, path)
        given = list(value)
        checked = _check_items(given, self.item, path)
        if checked is None:
            return value if self._kind is set else self._kind(value)
        made = self._kind(
            _hashed(self.item, before, item, (path, i))
            for i, (before, item) in enumerate(zip(given, checked, strict=True))
        )
        if len(made) < len(given):
            raise Mismatch(path, self.expected, "items that would become equal")
        return made

    def schema(self, definitions: Definitions) -> Schema:
        return {
            "type": "array",
            "uniqueItems": True,
            "items": self.item.schema(definitions),
        }


class DictCheck(Check):
    """`dict[K, V]` and `Mapping[K, V]`."""

    def __init__(self, key: Check, item: Check, name: str = "dict") -> None:
        self.key = key
        self.item = item
        self.expected = f"{name}[{key.expected}, {item.expected}]"

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is not dict:
            raise self.mismatch(value, path)
        keys_pass = self.key.exact.issuperset(map(type, value))
        items_pass = self.item.exact.issuperset(map(type, value.values()))
        if keys_pass and items_pass:
            return value
        checked: dict[Any, Any] = {}
        same = True
        for i, (key, item) in enumerate(value.items()):
            place = key_place(key) if isinstance(key, str) else f"<value {i}>"
            key_path = (path, f"<key {i}>")
            checked_key = self.key.check(key, key_path)
            checked_item = self.item.check(item, (path, place))
            same = same and checked_key is key and checked_item is item
            checked[_hashed(self.key, key, checked_key, key_path)] = checked_item
        if len(checked) < len(value):
            raise Mismatch(path, self.expected, "keys that would become equal")
        return value if same else checked

    def schema(self, definitions: Definitions) -> Schema:
        schema: Schema = {"type": "object"}
        items = self.item.schema(definitions)
        if items:
            schema["additionalProperties"] = items
        return schema
