"""What an annotation requires of a value, and the checks that can contain themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence

from snakepit_bridge.own_imports import inspect, re
from snakepit_bridge.values.value_not_transferable import Path, key_part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias


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


class AnnotationContext:
    """Where an annotation occurs.

    Attributes:
        compile: returns the check of an annotation that occurs there.
        aliases: the aliases around it.
        compiled: the checks of the types with a name so far: one that contains itself is the
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
        "compiled",
        "in_model",
        "owner",
    )

    def __init__(
        self,
        compile: Callable[[Any, AnnotationContext], Check],
        aliases: tuple[Any, ...],
        compiled: dict[Any, Check],
        applied: bool,
        answered: bool,
        owner: Any = None,
        in_model: bool = False,
    ) -> None:
        self.compile = compile
        self.aliases = aliases
        self.compiled = compiled
        self.applied = applied
        self.answered = answered
        self.owner = owner
        self.in_model = in_model

    def replace(self, **changes: Any) -> AnnotationContext:
        """Returns a copy with other values."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return AnnotationContext(**{**values, **changes})

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


_DEFINITIONS = "#/$defs/"


class _Outcomes(threading.local):
    """Remembers results for the parts of a value while a union checks it. If two
    members lead to the same part, and two within each of these, a deep part would
    otherwise be checked once for each path to it: twice as often with each level.

    Attributes:
        known: the result of a check for a value, by both; None while no union is
            checking.
    """

    known: dict[tuple[int, int], Any] | None = None


OUTCOMES = _Outcomes()


class NamedCheck(Check):
    """A check that has a name in a JSON schema.

    Attributes:
        kind: what has the name in Python; hashable.
    """

    kind: Any

    def check(self, value: Any, path: Path) -> Any:
        known = OUTCOMES.known
        # What is empty or has no parts can be one object in several places, and is
        # cheap to check again.
        if known is None or type(value) not in (dict, list) or not value:
            return self.look(value, path)
        # A value lives as long as its container, so no other value has its id.
        key = (id(self), id(value))
        if key not in known:
            try:
                known[key] = self.look(value, path)
            except Mismatch as mismatch:
                inside = None if mismatch.path is path else mismatch.path
                # Not the raised exception, which keeps references to the frames that it
                # passed.
                known[key] = Mismatch(
                    inside, mismatch.expected, mismatch.got, mismatch.problem
                )
        outcome = known[key]
        if type(outcome) is not Mismatch:
            return outcome
        where = path if outcome.path is None else outcome.path
        raise Mismatch(where, outcome.expected, outcome.got, outcome.problem)

    def look(self, value: Any, path: Path) -> Any:
        """Checks a value like `check`, without remembered results."""
        raise NotImplementedError

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        return definitions.reference(self)

    def definition(self, definitions: SchemaDefinitions) -> Schema:
        """Returns the schema that the name stands for."""
        raise NotImplementedError


class ObjectCheck(NamedCheck):
    """An object with these properties, and no others.

    Attributes:
        kind: the class; hashable.
        items: the checks of the properties.
        required: the properties that must be there.
        documentation: the docstring of the class.
    """

    samples: Sequence[Any] | None = ({},)

    def __init__(self, kind: Any, expected: str) -> None:
        self.kind = kind
        self.expected = expected
        self.items: Mapping[str, Check] = {}
        self.required: frozenset[str] = frozenset()
        # Of each property: its check, the types that need none, and its part of a path.
        self._known: dict[str, tuple[Check, frozenset[type], str]] = {}
        # Not `__doc__`: a class without a docstring inherits that of its base.
        own = getattr(kind, "__origin__", kind)
        documentation = own.__dict__.get("__doc__") or ""
        # A dataclass or named tuple without one has its signature.
        is_made = documentation.startswith(f"{own.__name__}(")
        self.documentation: str = "" if is_made else documentation

    def complete(self, items: Mapping[str, Check], required: Iterable[str]) -> None:
        """Takes the properties, which may contain this check."""
        self.items = items
        self.required = frozenset(required)
        self._known = {
            key: (check, check.exact, key_part(key)) for key, check in items.items()
        }

    def look(self, value: Any, path: Path) -> Any:
        if type(value) is not dict:
            raise self.mismatch(value, path)
        checked: dict[str, Any] | None = None
        for key, item in value.items():
            known = self._known.get(key)
            if known is None:
                keys = ", ".join(self.items)
                got = f"the key {key!r:.80}"
                raise Mismatch(path, f"{self.expected} (keys: {keys})", got)
            check, exact, part = known
            if type(item) not in exact:
                fields = check.check(item, (path, part))
                if fields is not item:
                    checked = dict(value) if checked is None else checked
                    checked[key] = fields
        if not self.required <= value.keys():
            missing = next(k for k in self.items if k in self.required - value.keys())
            expected = self.items[missing].expected
            raise Mismatch((path, key_part(missing)), expected, "nothing")
        return value if checked is None else checked

    def definition(self, definitions: SchemaDefinitions) -> Schema:
        # Few workers are asked to describe their tools.
        items = self.items.items()
        text = inspect.cleandoc(self.documentation)
        return {
            **({"description": text} if text else {}),
            "type": "object",
            "properties": {key: item.schema(definitions) for key, item in items},
            "required": [key for key in self.items if key in self.required],
            "additionalProperties": False,
        }


class AliasCheck(NamedCheck):
    """A type alias, where it occurs in what it is an alias of.

    Attributes:
        kind: the alias, with its parameters.
        target: what it stands for, set later: it contains this one.
    """

    def __init__(self, name: str, kind: Any) -> None:
        self.expected = name
        self.kind = kind
        self.target: Check = AnyCheck()

    def look(self, value: Any, path: Path) -> Any:
        return self.target.check(value, path)

    def definition(self, definitions: SchemaDefinitions) -> Schema:
        return self.target.schema(definitions)


class SchemaDefinitions:
    """The `$defs` of one JSON schema."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._schemas: dict[str, Schema] = {}

    def reference(self, check: NamedCheck) -> Schema:
        """Returns a reference to the definition of a check, and adds that if it is new."""
        name = self._names.get(check.kind)
        if name is None:
            name = self._names[check.kind] = self._free_name(check.expected)
            # It comes before what it contains, which may refer to it.
            self._schemas[name] = {}
            self._schemas[name] = check.definition(self)
        return {"$ref": f"{_DEFINITIONS}{name}"}

    def included(self, schema: Schema) -> Schema:
        """Returns a schema that has definitions of its own, which are added to these."""
        own = schema.pop("$defs", {})
        names: dict[str, str] = {}
        for wanted, definition in own.items():
            # The same one of another part is the same definition.
            key = (wanted, repr(definition))
            if key not in self._names:
                self._names[key] = self._free_name(wanted)
                self._schemas[self._names[key]] = {}
            names[wanted] = self._names[key]
        for wanted, definition in own.items():
            self._schemas[names[wanted]] = _renamed(definition, names)
        renamed: Schema = _renamed(schema, names)
        return renamed

    def added_to(self, schema: Schema) -> Schema:
        """Returns a schema with the definitions that it refers to."""
        return {**schema, "$defs": self._schemas} if self._schemas else schema

    def _free_name(self, wanted: str) -> str:
        # It is part of a pointer; a functional `TypedDict` can have any name.
        wanted = re.sub(r"[^\w.-]", "_", wanted)
        name, count = wanted, 1
        while name in self._schemas:
            count += 1
            name = f"{wanted}{count}"
        return name


def _renamed(part: Any, names: Mapping[str, str]) -> Any:
    """Returns a part of a schema with other names of definitions."""
    if isinstance(part, dict):
        return {key: _renamed(value, names) for key, value in part.items()}
    if isinstance(part, list):
        return [_renamed(item, names) for item in part]
    if isinstance(part, str) and part.startswith(_DEFINITIONS):
        return f"{_DEFINITIONS}{names[part.removeprefix(_DEFINITIONS)]}"
    return part


def json_schema(check: Check) -> Schema:
    """Returns the JSON schema (2020-12) of the values that pass a check."""
    definitions = SchemaDefinitions()
    return definitions.added_to(check.schema(definitions))
