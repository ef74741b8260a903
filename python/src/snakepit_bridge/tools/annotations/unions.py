"""Checks of values of one of several types."""

from __future__ import annotations

from collections.abc import Sequence

from snakepit_bridge.tools.annotations.check import Check, Mismatch, Schema
from snakepit_bridge.tools.annotations.named import OUTCOMES, SchemaDefinitions
from snakepit_bridge.values.no_image import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["ConditionUnmet", "UnionCheck"]


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
        made: list[Any] = []
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

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        return {"anyOf": [member.schema(definitions) for member in self.members]}
