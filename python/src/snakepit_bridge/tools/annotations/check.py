"""What an annotation asks of a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from snakepit_bridge.values.no_image import Path

if TYPE_CHECKING:
    from snakepit_bridge.tools.annotations.named import NamedCheck

__all__ = [
    "AnyCheck",
    "Check",
    "Definitions",
    "Mismatch",
    "Schema",
    "type_name",
]

Schema: TypeAlias = dict[str, Any]


class Definitions(Protocol):
    """What has a name in a JSON schema: whatever can be within itself."""

    def reference(self, check: NamedCheck) -> Schema:
        """Returns a reference to the definition of a check, which this adds."""


class Mismatch(Exception):
    """A value is not what its annotation asks for.

    Attributes:
        path: where.
        expected: what is asked for there.
        got: what is there.
    """

    def __init__(self, path: Path, expected: str, got: str) -> None:
        super().__init__(f"expected {expected}, got {got}")
        self.path = path
        self.expected = expected
        self.got = got


class Check:
    """One annotation, ready to be applied to values.

    Attributes:
        expected: the annotation as a person would write it.
        exact: types whose values pass as they are, without a look at each.
    """

    expected: str = "Any"
    exact: frozenset[type] = frozenset()

    def check(self, value: Any, path: Path) -> Any:
        """Returns the value for the tool: the same object, unless it has to be another.

        Raises:
            Mismatch: it is not what is expected.
        """
        raise NotImplementedError

    def schema(self, definitions: Definitions) -> Schema:
        """Returns the JSON schema (2020-12) of what passes.

        Args:
            definitions: where that of a part with a name goes.
        """
        raise NotImplementedError

    def mismatch(self, value: object, path: Path) -> Mismatch:
        """Returns the error about a value that does not pass."""
        return Mismatch(path, self.expected, type_name(value))


class AnyCheck(Check):
    """`Any`, `object`, and no annotation at all."""

    def check(self, value: Any, path: Path) -> Any:
        return value

    def schema(self, definitions: Definitions) -> Schema:
        return {}


def type_name(value: object) -> str:
    """Returns the name of a value's type, as an annotation has it."""
    if value is None:
        return "None"
    name = type(value).__name__
    if name == "ndarray":
        return f"ndarray[{getattr(value, 'dtype', '?')}]"
    if name == "datetime":
        aware = getattr(value, "tzinfo", None) is not None
        return "datetime with a zone" if aware else "datetime without a zone"
    return name
