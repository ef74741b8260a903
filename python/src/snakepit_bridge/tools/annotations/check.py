"""What an annotation requires of a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from snakepit_bridge.values.no_image import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from snakepit_bridge.tools.annotations.named import SchemaDefinitions

__all__ = [
    "REJECTIONS",
    "AnyCheck",
    "Check",
    "Mismatch",
    "Schema",
    "Unsupported",
    "Within",
    "type_name",
]

Schema: TypeAlias = "dict[str, Any]"

# The exceptions that the code of a type raises about a value that it refuses.
REJECTIONS = (ValueError, TypeError, AssertionError, ArithmeticError)


class Mismatch(Exception):
    """A value does not meet its annotation.

    Attributes:
        path: where it is.
        expected: the required type.
        got: what is there.
        problem: the whole message; made of the two by default.
    """

    def __init__(
        self, path: Path, expected: str, got: str, problem: str | None = None
    ) -> None:
        super().__init__(problem or f"expected {expected}, got {got}")
        self.path = path
        self.expected = expected
        self.got = got
        self.problem = problem


class Unsupported(Exception):
    """No value that can be sent has this type."""


class Check:
    """One annotation, ready to be applied to values.

    Attributes:
        expected: the annotation as a person would write it.
        exact: types whose values pass as they are, without a look at each.
        parts: the checks of what its values contain; none where they have a name.
        described: the check of what is sent for its values, where that is another type.
        samples: values that pass, or behave as such; None where any type may pass.
        by_reference: whether its values stay in the worker.
    """

    expected: str = "Any"
    exact: frozenset[type] = frozenset()
    parts: Sequence[Check] = ()
    described: Check | None = None
    samples: Sequence[Any] | None = None
    by_reference: bool = False

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


class Within:
    """Where an annotation occurs.

    Attributes:
        compile: returns the check of an annotation that occurs there.
        aliases: the aliases around it.
        made: the checks of the types with a name so far: one that contains itself is the
            same check again.
        applied: whether values will be checked.
        answered: whether it is what a tool returns.
        owner: the class around it, which `Self` stands for; None outside of one.
        in_model: whether pydantic makes its values, or writes them, as part of a model.
    """

    # Not a named tuple: creating that class takes longer at every start than this whole
    # module.
    __slots__ = (
        "aliases",
        "answered",
        "applied",
        "compile",
        "in_model",
        "made",
        "owner",
    )

    def __init__(
        self,
        compile: Callable[[Any, Within], Check],
        aliases: tuple[Any, ...],
        made: dict[Any, Check],
        applied: bool,
        answered: bool,
        owner: Any = None,
        in_model: bool = False,
    ) -> None:
        self.compile = compile
        self.aliases = aliases
        self.made = made
        self.applied = applied
        self.answered = answered
        self.owner = owner
        self.in_model = in_model

    def replace(self, **changes: Any) -> Within:
        """Returns a copy with other values."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return Within(**{**values, **changes})

    def part(self, annotation: Any) -> Check:
        """Returns the check of a part; in a description, an unknown part is any value.

        Raises:
            Unsupported: no value that can cross has this type.
        """
        if self.applied:
            return self.compile(annotation, self)
        try:
            return self.compile(annotation, self)
        except Unsupported:
            return AnyCheck()


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
