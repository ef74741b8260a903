"""Checks of values that contain others, and of values of one of several types."""

from __future__ import annotations

import contextlib
import operator
from collections import deque
from collections.abc import Sequence

from snakepit_bridge.tools.annotations.check import (
    OUTCOMES,
    Check,
    Mismatch,
    Schema,
    SchemaDefinitions,
)
from snakepit_bridge.tools.annotations.leaves import FloatCheck
from snakepit_bridge.values.value_not_transferable import Path, key_part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_NUMBERS = frozenset({int, float})


def _check_items(values: Sequence[Any], item: Check, path: Path) -> list[Any] | None:
    """Returns the items for the tool; None if they are those of `values`."""
    if item.exact.issuperset(map(type, values)):
        return None
    if type(item) is FloatCheck and _NUMBERS.issuperset(map(type, values)):
        # A value that is too large is found below, with its path.
        with contextlib.suppress(OverflowError):
            return list(map(float, values))
    checked = [item.check(value, (path, i)) for i, value in enumerate(values)]
    changed = any(a is not b for a, b in zip(checked, values, strict=True))
    return checked if changed else None


def _hashed(check: Check, value: Any, checked: Any, path: Path) -> Any:
    """Returns the checked value, unless it became a list, which cannot be in a set or
    be a key.
    """
    try:
        hash(checked)
    except TypeError:
        raise check.mismatch(value, path) from None
    return checked


class SequenceCheck(Check):
    """`list[X]`, `tuple[X, ...]`, and `Sequence[X]` and wider ones.

    Lists and tuples arrive for each of them: the host may be able to send only one.
    They are converted if `list`, `tuple` or `deque` is required.

    Attributes:
        item: the check of each item.
        name: `list`, `tuple`, `deque`, or the name of a protocol that both have.
    """

    def __init__(self, item: Check, name: str = "list") -> None:
        self.item = item
        self.name = name
        self.expected = f"{name}[{item.expected}{', ...' * (name == 'tuple')}]"
        self.parts = (item,)
        self._kind: Any = {"list": list, "tuple": tuple, "deque": deque}.get(name)
        self.samples = ((self._kind or list)(),)

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is not list and type(value) is not tuple:
            raise self.mismatch(value, path)
        kind = self._kind or type(value)
        checked = _check_items(value, self.item, path)
        if checked is None and type(value) is kind:
            return value
        return kind(value if checked is None else checked)

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        return {"type": "array", "items": self.item.schema(definitions)}


class TupleCheck(Check):
    """`tuple[X, Y]` and `tuple[X, *tuple[Y, ...], Z]`; a list is converted, because the
    host may have no other way to send one.

    Attributes:
        before: the checks of the first items.
        rest: that of each of any number of others; None where there are none.
        after: those of the last items.
    """

    samples = ((),)

    def __init__(
        self,
        before: Sequence[Check],
        rest: Check | None = None,
        after: Sequence[Check] = (),
    ) -> None:
        self.before, self.rest, self.after = list(before), rest, list(after)
        self.parts = [*before, *([] if rest is None else [rest]), *after]
        parts = [part.expected for part in self.parts]
        if rest is not None:
            parts[len(self.before)] = f"*tuple[{rest.expected}, ...]"
        self.expected = f"tuple[{', '.join(parts) or '()'}]"

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is not tuple and type(value) is not list:
            raise self.mismatch(value, path)
        checks, rest = self.parts, self.rest
        others = len(value) - len(self.before) - len(self.after)
        if others < 0 or (rest is None and others > 0):
            got = f"{type(value).__name__} of {len(value)}"
            raise Mismatch(path, self.expected, got)
        if rest is not None:
            checks = [*self.before, *[rest] * others, *self.after]
        pairs = zip(checks, value, strict=True)
        checked = tuple(
            check.check(part, (path, i)) for i, (check, part) in enumerate(pairs)
        )
        same = type(value) is tuple and all(map(operator.is_, checked, value))
        return value if same else checked

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        least = len(self.before) + len(self.after)
        schema: Schema = {
            "type": "array",
            "prefixItems": [part.schema(definitions) for part in self.before],
            "minItems": least,
        }
        if self.rest is None:
            return {**schema, "maxItems": least}
        # It has no word for the last items.
        others = [part.schema(definitions) for part in (self.rest, *self.after)]
        items = {"anyOf": others} if len(others) > 1 else others[0]
        return {**schema, "items": items}


class SetCheck(Check):
    """`set[X]` and `frozenset[X]`, made from the set that arrives.

    A set in another one, or in a key, arrives frozen. `kind` is None if both pass.
    """

    samples = (frozenset(),)

    def __init__(self, item: Check, kind: type | None = set) -> None:
        self.item = item
        self.parts = (item,)
        self._kind = kind
        self.expected = f"{(kind or set).__name__}[{item.expected}]"

    def check(self, value: Any, path: Path) -> Any:
        if type(value) is not set and type(value) is not frozenset:
            raise self.mismatch(value, path)
        kind: Any = self._kind or type(value)
        values = list(value)
        checked = _check_items(values, self.item, path)
        if checked is None:
            return value if kind is type(value) else kind(value)
        items = kind(
            _hashed(self.item, before, item, (path, i))
            for i, (before, item) in enumerate(zip(values, checked, strict=True))
        )
        if len(items) < len(values):
            raise Mismatch(path, self.expected, "items that would become equal")
        return items

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        items = self.item.schema(definitions)
        return {"type": "array", "uniqueItems": True, "items": items}


class DictCheck(Check):
    """`dict[K, V]` and `Mapping[K, V]`."""

    samples = ({},)

    def __init__(self, key: Check, item: Check, name: str = "dict") -> None:
        self.key = key
        self.item = item
        self.parts = (key, item)
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
            part = key_part(key) if isinstance(key, str) else f"<value {i}>"
            key_path = (path, f"<key {i}>")
            checked_key = self.key.check(key, key_path)
            checked_item = self.item.check(item, (path, part))
            same = same and checked_key is key and checked_item is item
            checked[_hashed(self.key, key, checked_key, key_path)] = checked_item
        if len(checked) < len(value):
            raise Mismatch(path, self.expected, "keys that would become equal")
        return value if same else checked

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        schema: Schema = {"type": "object"}
        items = self.item.schema(definitions)
        if items:
            schema["additionalProperties"] = items
        return schema


class ConditionUnmet(Mismatch):
    """A value has the right type, but does not meet a constraint on it."""


class UnionCheck(Check):
    """`X | Y`, `Union` and `Optional`: the first member that takes the value as it is.

    If none does, the first that converts it to a value of the same type, or of any.
    """

    def __init__(self, members: Sequence[Check]) -> None:
        self.members = self.parts = list(members)
        self.expected = " | ".join(member.expected for member in members)
        self.exact = frozenset[type]().union(*(m.exact for m in members))
        self._can_branch = sum(not member.exact for member in members) > 1

    def check(self, value: Any, path: Path) -> Any:
        if type(value) in self.exact:
            return value
        is_first = self._can_branch and OUTCOMES.known is None
        if is_first:
            OUTCOMES.known = {}
        items: list[Any] = []
        inside: Mismatch | None = None
        unmet: Mismatch | None = None
        try:
            for member in self.members:
                try:
                    checked = member.check(value, path)
                except Mismatch as mismatch:
                    # The better error is that of a member that accepted the value and
                    # refused a part of it. A traceback would keep the value alive.
                    if mismatch.path is not path and inside is None:
                        inside = mismatch.with_traceback(None)
                    elif type(mismatch) is ConditionUnmet and unmet is None:
                        unmet = mismatch.with_traceback(None)
                    continue
                if checked is value:
                    return value
                items.append(checked)
            if items:
                alike = (one for one in items if type(one) is type(value))
                return next(alike, items[0])
            if unmet is not None and inside is None:
                raise ConditionUnmet(path, self.expected, unmet.got)
            raise inside or self.mismatch(value, path)
        finally:
            inside = unmet = None
            if is_first:
                OUTCOMES.known = None

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        return {"anyOf": [member.schema(definitions) for member in self.members]}
