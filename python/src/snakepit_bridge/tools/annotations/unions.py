"""Checks of what may be one of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from snakepit_bridge.tools.annotations.check import (
    Check,
    Definitions,
    Mismatch,
    Schema,
)
from snakepit_bridge.tools.annotations.named import OUTCOMES
from snakepit_bridge.values.no_image import Path

__all__ = ["ConditionUnmet", "UnionCheck"]


class ConditionUnmet(Mismatch):
    """A value has the right type, and does not meet a constraint on it."""


class UnionCheck(Check):
    """`X | Y`, `Union` and `Optional`: the first that takes the value as it is.

    If none does, the first that makes a value of the same type of it, or of any.
    """

    def __init__(self, members: Sequence[Check]) -> None:
        self.members = list(members)
        self.expected = " | ".join(member.expected for member in members)
        self.exact = frozenset[type]().union(*(m.exact for m in members))
        self._can_branch = sum(not member.exact for member in members) > 1

    def check(self, value: Any, path: Path) -> Any:
        if type(value) in self.exact:
            return value
        is_first = self._can_branch and OUTCOMES.known is None
        if is_first:
            OUTCOMES.known = {}
        made: list[Any] = []
        inside: Mismatch | None = None
        unmet: Mismatch | None = None
        try:
            for member in self.members:
                try:
                    checked = member.check(value, path)
                except Mismatch as mismatch:
                    # A member that took the value and stumbled over a part of it
                    # has the better story. Its frames would keep the value.
                    if mismatch.path is not path and inside is None:
                        inside = mismatch.with_traceback(None)
                    elif type(mismatch) is ConditionUnmet and unmet is None:
                        unmet = mismatch.with_traceback(None)
                    continue
                if checked is value:
                    return value
                made.append(checked)
            if made:
                alike = (one for one in made if type(one) is type(value))
                return next(alike, made[0])
            if unmet is not None and inside is None:
                raise ConditionUnmet(path, self.expected, unmet.got)
            raise inside or self.mismatch(value, path)
        finally:
            inside = unmet = None
            if is_first:
                OUTCOMES.known = None

    def schema(self, definitions: Definitions) -> Schema:
        return {"anyOf": [member.schema(definitions) for member in self.members]}
