"""What types of TypeScript cannot say: constraints on values, in words."""

from __future__ import annotations

from collections.abc import Iterable

from snakepit_bridge.tools.annotations.check import Check
from snakepit_bridge.tools.annotations.constrained import ConstrainedCheck
from snakepit_bridge.tools.annotations.containers import (
    DictCheck,
    ListCheck,
    SetCheck,
    TupleCheck,
    VariadicTupleCheck,
)
from snakepit_bridge.tools.annotations.unions import UnionCheck

__all__ = ["conditions"]


def conditions(checks: Iterable[tuple[str, Check]]) -> str:
    """Returns a paragraph with the Python types of those that are constrained; it may be empty."""
    told = [f"`{name}: {check.expected}`" for name, check in checks if _is_told(check)]
    return f"Constraints: {', '.join(told)}." if told else ""


def _is_told(check: Check) -> bool:
    """Returns whether there is a constraint; what has a name of its own tells itself."""
    match check:
        case ConstrainedCheck():
            return True
        case UnionCheck():
            return any(map(_is_told, check.members))
        case TupleCheck():
            return any(map(_is_told, check.items))
        case ListCheck() | VariadicTupleCheck() | SetCheck():
            return _is_told(check.item)
        case DictCheck():
            return _is_told(check.key) or _is_told(check.item)
        case _:
            return False
