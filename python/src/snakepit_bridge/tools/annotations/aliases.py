"""Checks of type aliases that are within themselves."""

from __future__ import annotations

from typing import Any

from snakepit_bridge.tools.annotations.check import (
    AnyCheck,
    Check,
    Definitions,
    Schema,
)
from snakepit_bridge.tools.annotations.constrained import ConstrainedCheck
from snakepit_bridge.tools.annotations.named import NamedCheck
from snakepit_bridge.tools.annotations.unions import UnionCheck
from snakepit_bridge.values.no_image import Path

__all__ = ["AliasCheck"]


class AliasCheck(NamedCheck):
    """An alias where it stands within what it is an alias of.

    Attributes:
        kind: the alias, with its parameters.
        target: what it stands for, given later: it holds this one.
    """

    def __init__(self, name: str, kind: Any) -> None:
        self.expected = name
        self.kind = kind
        self.target: Check = AnyCheck()

    def look(self, value: Any, path: Path) -> Any:
        return self.target.check(value, path)

    def stands_for_itself(self) -> bool:
        """Returns whether it is met again before any value has been looked into."""
        waiting, met = [self.target], set[Check]()
        while waiting:
            check = waiting.pop()
            if check is self:
                return True
            if check in met:
                continue
            met.add(check)
            if isinstance(check, UnionCheck):
                waiting += check.members
            elif isinstance(check, AliasCheck):
                waiting.append(check.target)
            elif isinstance(check, ConstrainedCheck):
                waiting.append(check.inner)
        return False

    def definition(self, definitions: Definitions) -> Schema:
        return self.target.schema(definitions)
