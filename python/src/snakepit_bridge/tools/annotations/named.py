"""Checks that can be within themselves."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from snakepit_bridge.tools.annotations.check import (
    Check,
    Definitions,
    Mismatch,
    Schema,
)
from snakepit_bridge.values.no_image import Path

__all__ = ["OUTCOMES", "NamedCheck"]


class _Refusal(NamedTuple):
    """Why a value was not taken; `path` is None where it was the value itself."""

    path: Path | None
    expected: str
    got: str


class _Outcomes(threading.local):
    """What is known of the parts of a value while a union looks at it.

    Attributes:
        known: by check and value, what the one made of the other; None while no
            union looks. Where two members lead to the same part, and two within
            each of them, a part that is deep inside would else be looked at once
            for every way that leads there: twice as often with each level.
    """

    known: dict[tuple[int, int], Any] | None = None


OUTCOMES = _Outcomes()


class NamedCheck(Check):
    """One that has a name in a JSON schema, for it can be within itself.

    Attributes:
        kind: what the name is of in Python; hashable.
    """

    kind: Any

    def check(self, value: Any, path: Path) -> Any:
        known = OUTCOMES.known
        # What is empty or has no parts can be one object in several places, and
        # costs nothing.
        if known is None or type(value) not in (dict, list) or not value:
            return self.look(value, path)
        # A value lives as long as what it is part of: no other has its number.
        place = (id(self), id(value))
        if place not in known:
            try:
                known[place] = self.look(value, path)
            except Mismatch as mismatch:
                inside = None if mismatch.path is path else mismatch.path
                known[place] = _Refusal(inside, mismatch.expected, mismatch.got)
        outcome = known[place]
        if type(outcome) is not _Refusal:
            return outcome
        where = path if outcome.path is None else outcome.path
        raise Mismatch(where, outcome.expected, outcome.got)

    def look(self, value: Any, path: Path) -> Any:
        """Returns what `check` does, each time by a look at the value."""
        raise NotImplementedError

    def schema(self, definitions: Definitions) -> Schema:
        return definitions.reference(self)

    def definition(self, definitions: Definitions) -> Schema:
        """Returns what its name stands for."""
        raise NotImplementedError
