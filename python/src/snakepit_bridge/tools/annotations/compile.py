"""Turns annotations into checks.

Importing `typing` takes a twelfth of a worker's start. If nothing has imported it, no
annotation comes from it, and its parts are read without it.
"""

from __future__ import annotations

import collections
import collections.abc
import sys
import types
from collections.abc import Iterator
from types import FunctionType, GenericAlias, MethodType, UnionType

from snakepit_bridge.own_imports import loaded, typing
from snakepit_bridge.tools.annotations.check import (
    AnnotationContext,
    AnyCheck,
    Check,
    Unsupported,
)
from snakepit_bridge.tools.annotations.containers import (
    DictCheck,
    SequenceCheck,
    SetCheck,
    TupleCheck,
)
from snakepit_bridge.tools.annotations.leaves import (
    SCALARS,
    ArrayCheck,
    BytesCheck,
    FloatCheck,
    LiteralCheck,
    NdArrayCheck,
    builtin_literal,
)
from snakepit_bridge.values.nd_array import NdArray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# Attributes of functions whose annotations are elsewhere, or are to be ignored.
_SPECIAL = frozenset({"__wrapped__", "__no_type_check__"})


def origin_of(annotation: Any) -> Any:
    """Returns the result of `typing.get_origin`."""
    if loaded("typing") is not None:
        return typing.get_origin(annotation)
    if isinstance(annotation, GenericAlias):
        return annotation.__origin__
    return UnionType if isinstance(annotation, UnionType) else None


def parts_of(annotation: Any) -> tuple[Any, ...]:
    """Returns the result of `typing.get_args`."""
    if loaded("typing") is not None:
        return typing.get_args(annotation)
    if isinstance(annotation, (GenericAlias, UnionType)):
        return annotation.__args__
    return ()


def unpacked(annotation: Any) -> tuple[Any, ...] | None:
    """Returns the parts of the tuple that `*tuple[...]` or `Unpack[tuple[...]]` puts in
    its place; None if it is another annotation. Of `*Ts`, these can be anything.
    """
    if type(annotation) is GenericAlias:
        inner: Any = annotation if getattr(annotation, "__unpacked__", False) else None
    elif getattr(origin_of(annotation), "_name", None) == "Unpack":
        (inner,) = parts_of(annotation)
    else:
        return None
    if inner is None:
        return None
    if origin_of(inner) is tuple:
        parts = parts_of(inner)
        return () if parts == ((),) else parts
    return (object, ...) if type(inner).__name__ == "TypeVarTuple" else None


def hints_of(function: Any) -> dict[str, Any]:
    """Returns what `typing.get_type_hints` does, with its extras.

    Raises:
        Exception: a name cannot be resolved, and what else comes of evaluating text.
    """
    hints = _builtin_hints(function)
    if hints is not None:
        return hints
    return typing.get_type_hints(function, include_extras=True)


def _builtin_hints(function: Any) -> dict[str, Any] | None:
    """Returns the same if no annotation needs `typing`; None if one may need it."""
    if type(function) is MethodType:
        function = function.__func__
    if type(function) is not FunctionType or not _SPECIAL.isdisjoint(vars(function)):
        return None
    if getattr(function, "__type_params__", ()):
        return None
    if sys.version_info < (3, 11) and None in (function.__defaults__ or ()):
        # There, `typing` makes an `Optional` of what has this default.
        return None
    try:
        hints = {
            name: _resolved(annotation, function.__globals__)
            for name, annotation in function.__annotations__.items()
        }
    except Exception:  # noqa: BLE001 - `typing` says what is wrong with it
        return None
    return hints if all(map(_is_builtin, hints.values())) else None


def _resolved(annotation: Any, names: dict[str, Any]) -> Any:
    if isinstance(annotation, str):
        annotation = eval(annotation, names)
    return type(None) if annotation is None else annotation


def _is_builtin(annotation: Any) -> bool:
    if type(annotation) is GenericAlias or isinstance(annotation, UnionType):
        return all(map(_is_builtin, annotation.__args__))
    if isinstance(annotation, GenericAlias):
        # Of `Callable[[int], str]`, `typing` makes other parts than Python has.
        return False
    return isinstance(annotation, type) or annotation is Ellipsis


_SIMPLE: dict[Any, Check] = {
    **SCALARS,
    None: SCALARS[type(None)],
    object: AnyCheck(),
    float: FloatCheck(),
    bytes: BytesCheck(bytes),
    bytearray: BytesCheck(bytearray),
    memoryview: BytesCheck(memoryview),
    NdArray: NdArrayCheck(),
}
_LISTS = {
    list: "list",
    collections.abc.MutableSequence: "list",
    collections.deque: "deque",
    collections.abc.Sequence: "Sequence",
    collections.abc.Collection: "Collection",
    collections.abc.Iterable: "Iterable",
}
_SETS = {
    set: set,
    frozenset: frozenset,
    collections.abc.Set: None,
    collections.abc.MutableSet: set,
}
_DICTS = {
    dict: "dict",
    collections.abc.Mapping: "Mapping",
    collections.abc.MutableMapping: "Mapping",
}
_LITERALS = frozenset({str, int, bool, type(None)})
# Wrappers that do not change the type.
_TRANSPARENT = frozenset({"Required", "NotRequired", "ReadOnly", "Final"})


def compile_annotation(annotation: Any, *, answered: bool = False) -> Check:
    """Returns the check of an annotation whose names are resolved.

    Args:
        annotation: the annotation.
        answered: whether it is what a tool returns. Such values are not checked: the
            check only describes them, and constraints that cannot be checked are left
            out.

    Raises:
        Unsupported: no value that can cross has this type, or its metadata has a
            constraint that cannot be checked.
    """
    return _compile(
        annotation, AnnotationContext(_compile, (), {}, not answered, answered)
    )


def _compile(annotation: Any, within: AnnotationContext) -> Check:
    try:
        simple = _SIMPLE.get(annotation)
    except TypeError:  # not hashable
        simple = None
    if simple is not None:
        return simple
    if loaded("typing") is not None:
        meant = _meant(annotation)
        if meant is not annotation:
            return _compile(meant, within)
    if type(annotation).__name__ == "TypeAliasType":
        return _alias(annotation, annotation, annotation.__value__, within)
    alias = origin_of(annotation)
    if type(alias).__name__ == "TypeAliasType":
        # Generic, as numpy's NDArray: its parameters are given now.
        value = alias.__value__[parts_of(annotation)]
        return _alias(annotation, alias, value, within)
    if alias is None:
        return _generic(annotation, (), annotation, within)
    return _generic(alias, parts_of(annotation), annotation, within)


def _meant(annotation: Any) -> Any:
    """Returns what a name of `typing` stands for: another annotation."""
    if annotation is typing.Any:
        return object
    if annotation is getattr(typing, "LiteralString", None):
        return str
    if isinstance(annotation, typing.TypeVar):
        bound = annotation.__bound__
        return object if bound is None else bound
    if isinstance(annotation, typing.NewType):
        return annotation.__supertype__
    return annotation


def _generic(
    origin: Any, arguments: tuple[Any, ...], annotation: Any, within: AnnotationContext
) -> Check:
    if hasattr(annotation, "__metadata__"):
        return _annotated(annotation, arguments[0], within)
    # A class of the program may have the name of a special form.
    name = None if isinstance(origin, type) else getattr(origin, "_name", None)
    if name in _TRANSPARENT:
        return _compile(arguments[0], within)
    if name == "Self" and within.owner is not None:
        return _compile(within.owner, within)
    if name == "Union" or origin is types.UnionType:
        return _union(annotation, arguments, within)
    if name == "Literal" and all(map(_is_literal, arguments)):
        return LiteralCheck(arguments)
    if origin is tuple:
        # `tuple[()]` has arguments, but they are empty.
        bare = not hasattr(annotation, "__args__")
        return SequenceCheck(AnyCheck(), "tuple") if bare else _tuple(arguments, within)
    if origin in _LISTS:
        return SequenceCheck(_part(arguments, 0, within), _LISTS[origin])
    if origin in _SETS:
        return SetCheck(_part(arguments, 0, within), _SETS[origin])
    if origin in _DICTS:
        key, item = _part(arguments, 0, within), _part(arguments, 1, within)
        return DictCheck(key, item, _DICTS[origin])
    numpy = sys.modules.get("numpy")
    if numpy is not None and origin is numpy.ndarray:
        if not arguments:
            return ArrayCheck(None)
        # A module that few tools need.
        from snakepit_bridge.tools.annotations.arrays import array_check

        return array_check(arguments)
    if isinstance(origin, type):
        from snakepit_bridge.tools.annotations.classes import class_check

        check = class_check(origin, arguments, annotation, within)
        if check is not None:
            return check
    raise Unsupported(
        f"no value that can cross is of type {_written(annotation)}; {_remedy(annotation)}"
    )


def _is_literal(value: object) -> bool:
    return type(builtin_literal(value)) in _LITERALS


def _annotated(annotation: Any, inner: Any, within: AnnotationContext) -> Check:
    # Four modules that few tools need.
    from snakepit_bridge.tools.annotations.constraints import (
        Uncheckable,
        Unsuited,
        constrained,
        constraints_of,
    )
    from snakepit_bridge.tools.annotations.handles import HandleCheck, is_by_reference

    metadata = annotation.__metadata__
    if within.in_model and within.answered:
        from snakepit_bridge.tools.annotations.models import metadata_annotation

        written = metadata_annotation(annotation)
        if written is not annotation:
            return _compile(written, within)
    if is_by_reference(metadata):
        return HandleCheck(inner)
    if any(
        type(item).__module__ == "pydantic.fields" and item.discriminator
        for item in metadata
    ):
        return _by_pydantic(annotation, inner, within)
    check = _compile(inner, within)
    for item in metadata:
        try:
            for constraint in constraints_of(item):
                check = constrained(check, constraint)
        except (Uncheckable, Unsuited) as error:
            if not within.applied:
                continue
            problem = f"{item!r:.120} cannot be checked: {error}"
            if type(item).__module__.startswith("pydantic."):
                try:
                    return _by_pydantic(annotation, inner, within)
                except Unsupported as unsupported:
                    problem += f"; {unsupported}"
            raise Unsupported(
                f"{problem}; use annotated_types "
                "(Gt, Ge, Lt, Le, Interval, MultipleOf, Len, Predicate, Timezone), "
                "or remove it and check the value in the tool"
            ) from None
    return check


def _union(
    annotation: Any, arguments: tuple[Any, ...], within: AnnotationContext
) -> Check:
    # A module that not all tools need.
    from snakepit_bridge.tools.annotations.containers import UnionCheck

    if sum(hasattr(member, "__pydantic_validator__") for member in arguments) > 1:
        try:
            return _by_pydantic(annotation, None, within)
        except Unsupported:
            # A union with members that pydantic does not know.
            pass
    return UnionCheck([_compile(member, within) for member in arguments])


def _by_pydantic(annotation: Any, inner: Any, within: AnnotationContext) -> Check:
    from snakepit_bridge.tools.annotations.models import validated

    return validated(annotation, inner, within)


def _part(arguments: tuple[Any, ...], index: int, within: AnnotationContext) -> Check:
    return _compile(arguments[index], within) if arguments else AnyCheck()


def _tuple(arguments: tuple[Any, ...], within: AnnotationContext) -> Check:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return SequenceCheck(_compile(arguments[0], within), "tuple")
    # Of `tuple[()]`, Python 3.10 has one argument and later ones have none.
    parts = () if arguments == ((),) else arguments
    if any(unpacked(part) is not None for part in parts):
        return _rest_tuple(parts, within)
    return TupleCheck([_compile(part, within) for part in parts])


def _rest_tuple(parts: tuple[Any, ...], within: AnnotationContext) -> Check:
    """Returns the check of a tuple with the items of others in it."""
    before: list[Check] = []
    after: list[Check] = []
    rest: Check | None = None
    for part in _spliced(parts):
        if type(part) is _Rest:
            if rest is not None:
                # Type checkers refuse it.
                raise Unsupported("a tuple has at most one part of any length")
            rest = _compile(part.item, within)
        else:
            (before if rest is None else after).append(_compile(part, within))
    if rest is not None and not before and not after:
        return SequenceCheck(rest, "tuple")
    return TupleCheck(before, rest, after)


class _Rest:
    """Any number of items of a type."""

    def __init__(self, item: Any) -> None:
        self.item = item


def _spliced(parts: tuple[Any, ...]) -> Iterator[Any]:
    for part in parts:
        inner = unpacked(part)
        if inner is None:
            yield part
        elif len(inner) == 2 and inner[1] is Ellipsis:
            yield _Rest(inner[0])
        else:
            yield from _spliced(inner)


def _alias(annotation: Any, alias: Any, value: Any, within: AnnotationContext) -> Check:
    # A module that few tools need.
    from snakepit_bridge.tools.annotations.generics import alias_check

    return alias_check(annotation, alias, value, within)


def _written(annotation: Any) -> str:
    if isinstance(annotation, type):
        return annotation.__qualname__
    return str(annotation)


def _remedy(annotation: Any) -> str:
    if "Literal" in str(annotation):
        return "annotate it with Literal[...] of plain values"
    if isinstance(annotation, type):
        return (
            "Snakepit's docs/values.md lists the types that can cross; for others declare a "
            "@decoder, or use Any"
        )
    return "Snakepit's docs/values.md lists the types that can cross; Any accepts all of them"
