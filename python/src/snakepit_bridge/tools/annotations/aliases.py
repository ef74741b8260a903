"""Type aliases, which may be generic and contain themselves."""

from __future__ import annotations

from typing import Any

from snakepit_bridge.tools.annotations.check import Check, Unsupported, Within
from snakepit_bridge.tools.annotations.constrained import ConstrainedCheck
from snakepit_bridge.tools.annotations.named import AliasCheck
from snakepit_bridge.tools.annotations.unions import UnionCheck

__all__ = ["GENERIC_LEVELS", "alias_check", "place_of"]

# An alias can contain itself with other parameters each time, endlessly.
GENERIC_LEVELS = 8


def alias_check(annotation: Any, alias: Any, value: Any, within: Within) -> Check:
    """Compiles an alias, and its parameters where it is generic.

    Raises: Unsupported: it stands for itself, or for a type that no value that can be
    sent has.
    """
    place = place_of(annotation)
    if place in within.made:
        return within.made[place]
    if within.aliases.count(alias) >= GENERIC_LEVELS:
        raise Unsupported(
            f"the alias {alias.__name__} contains itself with other parameters "
            f"each time, {GENERIC_LEVELS} levels deep"
        )
    check = AliasCheck(alias.__name__, place)
    within.made[place] = check
    inside = within.replace(aliases=(*within.aliases, alias))
    check.target = within.compile(value, inside)
    if _is_endless(check):
        raise Unsupported(f"the alias {alias.__name__} stands for itself")
    # Parts that were compiled meanwhile have the check of the alias.
    within.made[place] = check.target
    return check.target


def _is_endless(alias: AliasCheck) -> bool:
    """Returns whether an alias leads to itself before any value is examined."""
    waiting, seen = [alias.target], set[Check]()
    while waiting:
        check = waiting.pop()
        if check is alias:
            return True
        if check in seen:
            continue
        seen.add(check)
        if isinstance(check, AliasCheck):
            waiting.append(check.target)
        elif isinstance(check, (UnionCheck, ConstrainedCheck)):
            waiting += check.parts
    return False


class _Identity:
    """Stands for an object that cannot be hashed."""

    def __init__(self, annotation: Any) -> None:
        # A reference, because otherwise another object could get its id.
        self._annotation = annotation

    def __hash__(self) -> int:
        return id(self._annotation)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self._annotation is other._annotation


def place_of(annotation: Any) -> Any:
    """Returns what stands for an annotation as a key."""
    try:
        hash(annotation)
    except TypeError:  # because of its metadata
        return _Identity(annotation)
    return annotation
