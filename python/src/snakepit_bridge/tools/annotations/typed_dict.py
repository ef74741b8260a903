"""Checks of a `TypedDict`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from snakepit_bridge.tools.annotations.check import AnyCheck, Check, Mismatch, Schema
from snakepit_bridge.tools.annotations.containers import DictCheck
from snakepit_bridge.tools.annotations.scalars import str_check
from snakepit_bridge.values.no_image import Path, key_place

__all__ = ["RepeatedTypedDictCheck", "TypedDictCheck"]


class TypedDictCheck(Check):
    """A dict with these keys, and no others."""

    def __init__(
        self, kind: type, items: Mapping[str, Check], required: frozenset[str]
    ) -> None:
        self.kind = kind
        self.items = dict(items)
        self.required = required
        self.expected = kind.__name__

    def check(self, value: Any, path: Path) -> Any:
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

    def schema(self) -> Schema:
        return {
            "type": "object",
            "properties": {key: item.schema() for key, item in self.items.items()},
            "required": [key for key in self.items if key in self.required],
            "additionalProperties": False,
        }


class RepeatedTypedDictCheck(DictCheck):
    """A `TypedDict` within itself: what is in it is not looked at."""

    def __init__(self, kind: type) -> None:
        super().__init__(str_check(), AnyCheck())
        self.kind = kind
