"""Models and other types of pydantic, which checks and writes their values itself."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from datetime import date, datetime
from typing import Annotated, Any, NamedTuple

import pydantic
import pydantic_core
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticUndefined

from snakepit_bridge.tools.annotations.check import (
    AnnotationContext,
    AnyCheck,
    Check,
    Mismatch,
    ObjectCheck,
    Schema,
    SchemaDefinitions,
    Unsupported,
)
from snakepit_bridge.tools.annotations.containers import UnionCheck
from snakepit_bridge.tools.annotations.generics import cache_key
from snakepit_bridge.values.value_not_transferable import Path, key_part, path_text


def field_annotation(kind: Any, name: str, annotation: Any) -> Any:
    """Returns the annotation of what is written for a field, given that of the field."""
    for decorator in kind.__pydantic_decorators__.field_serializers.values():
        if name in decorator.info.fields or "*" in decorator.info.fields:
            return _written(decorator.func, decorator.info, annotation)
    return annotation


def model_annotation(kind: Any) -> Any:
    """Returns the annotation of what is written for a model; the model without a serializer."""
    for decorator in kind.__pydantic_decorators__.model_serializers.values():
        return _written(decorator.func, decorator.info, kind)
    return kind


def metadata_annotation(annotation: Any) -> Any:
    """Returns the annotation of what is written by the metadata of `Annotated`."""
    for item in _serializers(annotation.__metadata__):
        return _written(item.func, item, annotation)
    return annotation


def _serializers(metadata: tuple[Any, ...]) -> Iterator[Any]:
    # The last one replaces the others.
    for item in reversed(metadata):
        kind = type(item)
        is_one = kind.__name__ in ("PlainSerializer", "WrapSerializer")
        if is_one and kind.__module__ == "pydantic.functional_serializers":
            yield item


def _written(function: Any, serializer: Any, annotation: Any) -> Any:
    """Returns what a serializer is annotated with; anything where that is not known."""
    if serializer.when_used.startswith("json"):
        # The sent value is not its JSON.
        return annotation
    returned = serializer.return_type
    if returned is PydanticUndefined:
        try:
            hints = typing.get_type_hints(function, include_extras=True)
        except Exception:  # noqa: BLE001 - a name that is not known, or no function
            hints = {}
        returned = hints.get("return", Any)
    is_optional = serializer.when_used == "unless-none"
    return typing.Optional[returned] if is_optional else returned  # noqa: UP045 - it may be text


_MOST_ERRORS = 5
_BY_TYPE = {"string": str, "integer": int, "number": float, "boolean": bool}
_BY_FORMAT = {"date": date, "date-time": datetime}


class _Descriptions(dict[Any, Check]):
    """The descriptions of models so far, apart from what is applied to values."""


class _Schema(GenerateJsonSchema):
    ignored_warning_kinds = {"non-serializable-default", "skipped-choice"}  # noqa: RUF012 - its type


class ModelCheck(Check):
    """An annotation that pydantic applies, through a `TypeAdapter`."""

    def __init__(
        self, annotation: Any, expected: str, within: AnnotationContext
    ) -> None:
        try:
            self._adapter: Any = pydantic.TypeAdapter(annotation)
        except Exception as error:
            text, *_ = str(error).splitlines() or [""]
            raise Unsupported(
                f"pydantic cannot validate {expected}: {type(error).__name__}: {text}"
            ) from error
        self.expected = expected
        self._answered = within.answered

    def described_by(self, described: Check) -> None:
        """Sets the known facts about the values, for their types in TypeScript."""
        self.described = described
        self.parts = (described,)

    def check(self, value: Any, path: Path) -> Any:
        try:
            return self._adapter.validate_python(value)
        except pydantic.ValidationError as error:
            raise self._mismatch(error, path) from None

    def _mismatch(self, error: pydantic.ValidationError, path: Path) -> Mismatch:
        """Returns the first error with its path, and some others with theirs."""
        first, *others = error.errors(
            include_url=False, include_context=False, include_input=False
        )
        problem = first["msg"]
        for other in others[: _MOST_ERRORS - 1]:
            problem += f"; {path_text(_path(other['loc'], path))}: {other['msg']}"
        if len(others) >= _MOST_ERRORS:
            problem += f"; and {len(others) + 1 - _MOST_ERRORS} more"
        where = _path(first["loc"], path)
        return Mismatch(where, self.expected, first["msg"], problem)

    def schema(self, definitions: SchemaDefinitions) -> Schema:
        mode: Any = "serialization" if self._answered else "validation"
        try:
            schema = self._adapter.json_schema(mode=mode, schema_generator=_Schema)
        except pydantic.PydanticUserError:
            # A part has no schema in pydantic, such as an array.
            return (self.described or AnyCheck()).schema(definitions)
        return definitions.included(schema)


def model_check(kind: Any, annotation: Any, within: AnnotationContext) -> Check | None:
    """Returns the check of a class that pydantic knows; None if it does not.

    Raises:
        Unsupported: pydantic cannot validate it.
    """
    # A dataclass of pydantic's has only the validator.
    hooks = ("__get_pydantic_core_schema__", "__pydantic_validator__")
    if not any(hasattr(kind, hook) for hook in hooks):
        return None
    if isinstance(within.compiled, _Descriptions):
        return _described(kind, annotation, within)
    key = cache_key(annotation)
    if key not in within.compiled:
        check = ModelCheck(annotation, kind.__name__, within)
        within.compiled[key] = check
        check.described_by(_described(kind, annotation, _describing(within)))
    return within.compiled[key]


def validated(annotation: Any, inner: Any, within: AnnotationContext) -> Check:
    """Returns the check of any annotation that pydantic is to apply.

    Args:
        annotation: a union, or `Annotated` with metadata of pydantic.
        inner: what describes its values; None for a union.
        within: where it occurs.

    Raises:
        Unsupported: pydantic cannot validate it.
    """
    is_description = isinstance(within.compiled, _Descriptions)
    inside = within if is_description else _describing(within)
    if inner is None:
        members = typing.get_args(annotation)
        described: Check = UnionCheck([inside.part(member) for member in members])
    else:
        described = inside.part(inner)
    if is_description:
        return described
    check = ModelCheck(annotation, described.expected, within)
    check.described_by(described)
    return check


def _describing(within: AnnotationContext) -> AnnotationContext:
    descriptions: Any = within.compiled.setdefault(_Descriptions, _Descriptions())  # type: ignore[arg-type]
    # A result is written by its type: only what is in a model is pydantic's.
    return within.replace(
        applied=False, compiled=descriptions, in_model=not within.answered
    )


def _in_model(within: AnnotationContext) -> AnnotationContext:
    """Returns the same place inside a model, where other descriptions hold."""
    descriptions: Any = within.compiled.setdefault(_in_model, _Descriptions())  # type: ignore[arg-type]
    return within.replace(compiled=descriptions, in_model=True)


def _path(loc: tuple[int | str, ...], path: Path) -> Path:
    for part in loc:
        path = (path, part if isinstance(part, int) else key_part(part))
    return path


class _Property(NamedTuple):
    name: str
    annotation: Any
    required: bool


def _described(kind: Any, annotation: Any, within: AnnotationContext) -> Check:
    if not within.in_model:
        within = _in_model(within)
    key = cache_key(annotation)
    if key in within.compiled:
        return within.compiled[key]
    fields = getattr(kind, "__pydantic_fields__", None)
    if fields is None:
        return _by_schema(kind, within)
    if within.answered and (written := model_annotation(kind)) is not kind:
        within.compiled[key] = AnyCheck()
        within.compiled[key] = within.part(written)
        return within.compiled[key]
    if issubclass(kind, pydantic.RootModel):
        # A model that contains itself is any value inside.
        within.compiled[key] = AnyCheck()
        root = _whole(fields["root"])
        if within.answered:
            root = field_annotation(kind, "root", root)
        within.compiled[key] = within.part(root)
        return within.compiled[key]
    check = ObjectCheck(kind, kind.__name__)
    within.compiled[key] = check
    properties = list(_answered(kind) if within.answered else _taken(kind))
    inside = within.replace(owner=annotation)
    check.complete(
        {p.name: inside.part(p.annotation) for p in properties},
        [p.name for p in properties if p.required],
    )
    return check


def _taken(kind: Any) -> Iterator[_Property]:
    for name, field in kind.__pydantic_fields__.items():
        alias = field.validation_alias or field.alias or name
        if isinstance(alias, pydantic.AliasChoices):
            texts = [choice for choice in alias.choices if isinstance(choice, str)]
            alias = texts[0] if texts else name
        if isinstance(alias, str) and field.init is not False:
            yield _Property(alias, _whole(field), field.is_required())


def _answered(kind: Any) -> Iterator[_Property]:
    for name, field in kind.__pydantic_fields__.items():
        if not field.exclude and not field.init_var:
            alias = field.serialization_alias or field.alias or name
            written = field_annotation(kind, name, _whole(field))
            yield _Property(alias, written, True)
    for name, decorator in kind.__pydantic_decorators__.computed_fields.items():
        info = decorator.info
        function = getattr(info.wrapped_property, "fget", None)
        # Otherwise it is a `cached_property`.
        hints = typing.get_type_hints(function or info.wrapped_property.func)
        written = field_annotation(kind, name, hints.get("return", Any))
        yield _Property(info.alias or name, written, True)


def _whole(field: Any) -> Any:
    """Returns the annotation of a field with its metadata."""
    parts = (field.annotation, *field.metadata)
    return Annotated[parts] if field.metadata else field.annotation


def _by_schema(kind: Any, within: AnnotationContext) -> Check:
    """Returns the check that describes a type without fields, such as a kind of text."""
    from snakepit_bridge.tools.annotations.compile import compile_annotation

    if within.answered and hasattr(kind, "get_secret_value"):
        # Such a value cannot be sent: only a serializer of its field can write it.
        return AnyCheck()
    try:
        schema = pydantic.TypeAdapter(kind).json_schema(schema_generator=_Schema)
    except (pydantic.PydanticUserError, pydantic_core.SchemaError):
        return AnyCheck()
    annotation = _BY_FORMAT.get(schema.get("format", "")) or _BY_TYPE.get(
        schema.get("type", "")
    )
    return AnyCheck() if annotation is None else compile_annotation(annotation)
