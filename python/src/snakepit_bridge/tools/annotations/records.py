"""Classes that are made of fields: typed dicts, dataclasses, named tuples, attrs, structs of msgspec."""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from snakepit_bridge.own_imports import loaded
from snakepit_bridge.tools.annotations.check import (
    REJECTIONS,
    AnnotationContext,
    AnyCheck,
    Check,
    Mismatch,
    ObjectCheck,
    Unsupported,
)
from snakepit_bridge.tools.annotations.containers import TupleCheck
from snakepit_bridge.tools.annotations.generics import (
    GENERIC_LEVELS,
    cache_key,
    field_hints,
)
from snakepit_bridge.values.value_not_transferable import Path


class _Field(NamedTuple):
    """A field in one direction.

    Attributes:
        name: what it is called on the other side.
        keyword: what the class's initializer calls it; None if it takes no such argument.
        annotation: its type there.
        required: whether it is there always.
    """

    name: str
    keyword: str | None
    annotation: Any
    required: bool


_Hints: TypeAlias = Mapping[str, Any]


class RecordCheck(ObjectCheck):
    """A class that is created from an object with exactly its fields."""

    samples: Sequence[Any] | None = None

    def __init__(self, kind: Any, expected: str) -> None:
        super().__init__(kind, expected)
        # What the initializer calls a field, where that is another name; None where it
        # takes no such argument.
        self.keywords: dict[str, str | None] = {}

    def look(self, value: Any, path: Path) -> Any:
        arguments = super().look(value, path)
        if self.keywords:
            arguments = self._renamed(arguments)
        try:
            return self.kind(**arguments)
        except REJECTIONS as error:
            problem = (
                f"not a valid {self.expected}: {str(error) or type(error).__name__}"
            )
            raise Mismatch(path, self.expected, problem, problem) from None

    def _renamed(self, names: dict[str, Any]) -> dict[str, Any]:
        pairs = ((self.keywords.get(name, name), item) for name, item in names.items())
        return {keyword: item for keyword, item in pairs if keyword is not None}


def record_check(
    kind: Any, arguments: tuple[Any, ...], annotation: Any, within: AnnotationContext
) -> Check | None:
    """Returns the check of a class that consists of fields; None for other classes.

    Args:
        kind: the class.
        arguments: what is given for its type parameters.
        annotation: the class with these.
        within: where it occurs.

    Raises:
        Unsupported: no value that can cross has the type of a field, or the types of its
            fields cannot be resolved.
    """
    read = _reader(kind)
    if read is None:
        return None
    if read in (_of_attrs, _of_struct) and within.in_model and not within.answered:
        # pydantic takes only instances: the input of a validator is not known.
        return AnyCheck()
    key = cache_key(annotation)
    if key in within.compiled:
        return within.compiled[key]
    if within.aliases.count(kind) >= GENERIC_LEVELS:
        raise Unsupported(
            f"{kind.__name__} contains itself with other parameters each time, "
            f"{GENERIC_LEVELS} levels deep"
        )
    try:
        fields = list(read(kind, field_hints(kind, arguments), within.answered))
    except Exception as error:
        raise Unsupported(
            f"the annotations of {kind.__name__} cannot be resolved: "
            f"{type(error).__name__}: {error}; import what they name at run time too"
        ) from error
    if read is _of_named_tuple and within.in_model and within.answered:
        # pydantic writes a plain tuple. One that contains itself is any value inside.
        within.compiled[key] = AnyCheck()
        parts = [within.part(field.annotation) for field in fields]
        within.compiled[key] = TupleCheck(parts)
        return within.compiled[key]
    name = _name(kind, arguments)
    if read is _of_typed_dict:
        check = ObjectCheck(annotation, name)
    else:
        check = RecordCheck(annotation, name)
        check.keywords = {f.name: f.keyword for f in fields if f.name != f.keyword}
    within.compiled[key] = check
    aliases = (*within.aliases, kind) if arguments else within.aliases
    inside = within.replace(aliases=aliases, owner=annotation)
    check.complete(
        {field.name: inside.part(field.annotation) for field in fields},
        [field.name for field in fields if field.required],
    )
    return check


def _reader(kind: Any) -> Any:
    # By an attribute: `typing` does not know the class of typing_extensions.
    if hasattr(kind, "__required_keys__"):
        return _of_typed_dict
    if hasattr(kind, "__dataclass_fields__"):
        return _of_dataclass
    if hasattr(kind, "__attrs_attrs__"):
        return _of_attrs
    if hasattr(kind, "__struct_encode_fields__"):
        return _of_struct
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _of_named_tuple
    return None


def _of_typed_dict(kind: Any, hints: _Hints, answered: bool) -> Iterator[_Field]:
    required_by: dict[Any, bool] = {"Required": True, "NotRequired": False}
    for name, hint in hints.items():
        wrapper = getattr(typing.get_origin(hint), "_name", "")
        required = required_by.get(wrapper, name in kind.__required_keys__)
        yield _Field(name, name, hint, required)


def _of_dataclass(kind: Any, hints: _Hints, answered: bool) -> Iterator[_Field]:
    missing = loaded("dataclasses").MISSING
    for name, field in kind.__dataclass_fields__.items():
        hint = hints.get(name, Any)
        match field._field_type.name:
            case "_FIELD" if answered or field.init:
                no_default = field.default is field.default_factory is missing
                yield _Field(name, name, hint, answered or no_default)
            case "_FIELD_INITVAR" if not answered:
                # The hint is an `InitVar`.
                yield _Field(name, name, hint.type, field.default is missing)


def _of_named_tuple(kind: Any, hints: _Hints, answered: bool) -> Iterator[_Field]:
    for name in kind._fields:
        required = answered or name not in kind._field_defaults
        yield _Field(name, name, hints.get(name, Any), required)


def _of_attrs(kind: Any, hints: _Hints, answered: bool) -> Iterator[_Field]:
    nothing = sys.modules["attr"].NOTHING
    for field in kind.__attrs_attrs__:
        hint = hints.get(field.name, Any)
        if not answered and field.converter is not None:
            # Whatever that takes.
            hint = Any
        if answered or field.init:
            required = answered or field.default is nothing
            yield _Field(field.alias, field.alias, hint, required)


def _of_struct(kind: Any, hints: _Hints, answered: bool) -> Iterator[_Field]:
    msgspec: Any = sys.modules["msgspec"]
    config = kind.__struct_config__
    if config.tag is not None:
        yield _Field(config.tag_field, None, Literal[config.tag], True)
    for field in msgspec.structs.fields(kind):
        hint = hints[field.name]
        members = typing.get_args(hint)
        # What is unset is not sent.
        can_lack = msgspec.UnsetType in members
        if can_lack:
            hint = typing.Union[tuple(m for m in members if m is not msgspec.UnsetType)]  # noqa: UP007 - of a tuple
        required = not can_lack if answered else field.required
        yield _Field(field.encode_name, field.name, hint, required)


def _name(kind: Any, arguments: tuple[Any, ...]) -> str:
    names = [_argument_name(argument) for argument in arguments]
    if kind in (typing.Union, types.UnionType):
        return " | ".join(names)
    name = str(getattr(kind, "__name__", kind))
    return f"{name}[{', '.join(names)}]" if names else name


def _argument_name(argument: Any) -> str:
    if argument is type(None):
        return "None"
    return _name(typing.get_origin(argument) or argument, typing.get_args(argument))
