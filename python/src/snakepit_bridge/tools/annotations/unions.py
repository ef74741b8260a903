"""Checks of what may be one of several."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from snakepit_bridge.tools.annotations.check import (
    Check,
    Definitions,
    Mismatch,
    Schema,
)
from snakepit_bridge.values.no_image import Path

__all__ = ["UnionCheck"]


class _Refusal(NamedTuple):
    """Why a member did not take a value.

    Attributes:
        mismatch: what was wrong.
        is_inside: whether with a part of the value.
    """

    mismatch: Mismatch
    is_inside: bool


# By a check and a value: what the check made of it, or a refusal.
_Outcomes: TypeAlias = "dict[tuple[int, int], Any]"


class _Underway(threading.local):
    """What is known of the parts of the value that a union looks at."""

    outcomes: _Outcomes | None = None


_underway = _Underway()


class UnionCheck(Check):
    """`X | Y`, `Union` and `Optional`: the first that takes the value as it is.

    If none does, the first that makes a value of the same type of it, or of any.
    """

    def __init__(self, members: Sequence[Check]) -> None:
        self.members = list(members)
        self.expected = " | ".join(member.expected for member in members)
        self.exact = frozenset[type]().union(*(m.exact for m in members))

    def check(self, value: Any, path: Path) -> Any:
        if type(value) in self.exact:
            return value
        if _underway.outcomes is not None:
            return self._check(value, path, _underway.outcomes)
        _underway.outcomes = {}
        try:
            return self._check(value, path, _underway.outcomes)
        finally:
            _underway.outcomes = None

    def _check(self, value: Any, path: Path, outcomes: _Outcomes) -> Any:
        made: list[Any] = []
        inside: Mismatch | None = None
        for member in self.members:
            checked = _outcome(member, value, path, outcomes)
            if checked is value:
                return value
            if type(checked) is not _Refusal:
                made.append(checked)
            # A member that took the value and stumbled over a part of it
            # has the better story.
            elif checked.is_inside and inside is None:
                inside = checked.mismatch
        if made:
            alike = (one for one in made if type(one) is type(value))
            return next(alike, made[0])
        raise inside or self.mismatch(value, path)

    def schema(self, definitions: Definitions) -> Schema:
        return {"anyOf": [member.schema(definitions) for member in self.members]}


def _outcome(check: Check, value: Any, path: Path, outcomes: _Outcomes) -> Any:
    """Returns the value for the tool, or why there is none.

    Each member looks at each value once: unions within the members of a union would
    else look at what is deep inside once for every way that leads there.
    """
    # A value lives as long as what it is part of: no other has its number meanwhile.
    place = (id(check), id(value))
    if place not in outcomes:
        try:
            outcomes[place] = check.check(value, path)
        except Mismatch as mismatch:
            outcomes[place] = _Refusal(mismatch, mismatch.path is not path)
    return outcomes[place]
