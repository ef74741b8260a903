"""Checks of a `TypedDict`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from snakepit_bridge.tools.annotations.check import (
    Check,
    Definitions,
    Mismatch,
    Schema,
)
from snakepit_bridge.tools.annotations.named import NamedCheck
from snakepit_bridge.values.no_image import Path, key_place

__all__ = ["TypedDictCheck"]


class TypedDictCheck(NamedCheck):
    """A dict with these keys, and no others.

    Attributes:
        kind: the class.
        items: the checks of the keys, given later: they may hold this one.
        required: the keys that must be there.
    """

    def __init__(self, kind: type, required: frozenset[str]) -> None:
        self.kind: type = kind
        self.items: Mapping[str, Check] = {}
        self.required = required
        self.expected = kind.__name__

    def look(self, value: Any, path: Path) -> Any:
        if type(value) is not dict:
            raise self.mismatch(value, path)
        checked: dict[str, Any] = {}
        for key, item in value.items():
            check = self.items.get(key) if isinstance(key, str) else None
            if check is None:
                known = ", ".join(self.items)
                place = f"the key {key!r:.80}"
                raise Mismatch(path, f"{self.expected} (keys: {known})", place)
            checked[key] = check.check(item, (path, key_place(key)))
        for key in self.items:
            if key in self.required and key not in checked:
                expected = self.items[key].expected
                raise Mismatch((path, key_place(key)), expected, "nothing")
        same = all(checked[key] is item for key, item in value.items())
        return value if same else checked

    def definition(self, definitions: Definitions) -> Schema:
        items = self.items.items()
        return {
            "type": "object",
            "properties": {key: item.schema(definitions) for key, item in items},
            "required": [key for key in self.items if key in self.required],
            "additionalProperties": False,
        }
