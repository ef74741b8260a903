"""What an annotation requires of a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from snakepit_bridge.values.no_image import Path

if TYPE_CHECKING:
    from snakepit_bridge.tools.annotations.named import SchemaDefinitions

__all__ = ["AnyCheck", "Check", "Mismatch", "Schema", "type_name"]

Schema: TypeAlias = dict[str, Any]


class Mismatch(Exception):
    """A value is not what its annotation requires.

    Attributes:
        path: where it is.
        expected: what is required there.
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
        parts: the checks of what its values contain; none where they have a name.
        samples: values that pass, or behave as such; None where any type may pass.
    """

    expected: str = "Any"
    exact: frozenset[type] = frozenset()
    parts: Sequence[Check] = ()
    samples: Sequence[Any] | None = None

    def check(self, value: Any, path: Path) -> Any:
        """Returns the value for the tool: the same object, unless it must be converted.

        Raises:
            Mismatch: it is not what is expected.
        """
        raise NotImplementedError

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        """Returns the JSON schema (2020-12) of the values that pass.

        Args:
            definitions: receives the definitions of parts that have a name.
        """
        raise NotImplementedError

    def mismatch(self, value: object, path: Path) -> Mismatch:
        """Returns the error about a value that does not pass."""
        return Mismatch(path, self.expected, type_name(value))


class AnyCheck(Check):
    """`Any`, `object`, and no annotation at all."""

    def check(self, value: Any, path: Path) -> Any:
        return value

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        return {}


def type_name(value: object) -> str:
    """Returns the name of a value's type, as an annotation would have it."""
    if value is None:
        return "None"
    name = type(value).__name__
    if name == "ndarray":
        return f"ndarray[{getattr(value, 'dtype', '?')}]"
    if name == "datetime":
        aware = getattr(value, "tzinfo", None) is not None
        return "datetime with a zone" if aware else "datetime without a zone"
    return name
