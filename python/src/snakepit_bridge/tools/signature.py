"""The signature of a tool, read from its function."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable

from snakepit_bridge.own_imports import json
from snakepit_bridge.tools.annotations.check import (
    AnyCheck,
    Check,
    ObjectCheck,
    Schema,
    SchemaDefinitions,
    Unsupported,
)
from snakepit_bridge.tools.annotations.compile import (
    compile_annotation,
    hints_of,
    origin_of,
    parts_of,
    unpacked,
)
from snakepit_bridge.tools.function_shape import (
    KEYWORD_ONLY,
    NO_DEFAULT,
    OTHER,
    POSITIONAL_ONLY,
    REST,
    Parameter,
    callee,
    is_async_generator,
    is_generator,
    parameters_of,
    unwrapped,
)
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode
from snakepit_bridge.values.value_not_transferable import Path, has_digits, key_part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_STREAMS = frozenset({"Iterator", "Generator", "AsyncIterator", "AsyncGenerator"})
# What is awaited, wherever it is from.
_LATER = frozenset(
    {
        ("collections.abc", "Awaitable"),
        ("collections.abc", "Coroutine"),
        ("types", "CoroutineType"),
        ("builtins", "coroutine"),
        ("_asyncio", "Future"),
        ("_asyncio", "Task"),
        ("asyncio.futures", "Future"),
        ("asyncio.tasks", "Task"),
    }
)
_NO_TYPE: frozenset[type] = frozenset()
# Types of defaults that are what they look like.
_USUAL_DEFAULTS = frozenset(
    {type(NO_DEFAULT), type(None), bool, int, float, str, bytes, tuple, list, dict}
)
# What a generator may promise, too; from any other function they are values.
_ITERABLES = frozenset({"Iterable", "AsyncIterable"})


class SignatureInvalid(Exception):
    """A host cannot call a tool with this signature."""


class Signature:
    """The signature of one tool, its annotations compiled.

    Attributes:
        positional: the parameters that a list can give, in order, with the path
            of each.
        named: the parameters that a dict can give.
        only_positional: the names of those that have none in Python, in order.
        required: the names of those without a default.
        required_positional: how many arguments a list has at least, to give all of these
            that it can.
        filled: what makes the defaults that Python does not have itself.
        rest: the check of `*args`, if there is one.
        other: the check of `**kwargs`, if there is one.
        result: the check of what the tool returns, or of one chunk; it serves
            descriptions only.
        returns_stream: whether the annotation promises an iterator.
        returns_async: whether it promises an asynchronous one, or what is awaited.
        stream_result: the check of what a generator returns after its last chunk, or
            yields as its `Result`; None where the annotation says nothing, or None.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        hints: dict[str, Any] | None = None,
        *,
        foreign: bool = False,
    ) -> None:
        """Reads the signature of a function or bound method. One that has none, as some
        builtins, takes any arguments.

        Args:
            function: what to read.
            hints: the types of its parameters; by default those that it has.
            foreign: it was not written as a tool: an annotation that cannot be
                resolved, or whose type no value has that crosses, requires nothing.

        Raises:
            SignatureInvalid: such an annotation of a function that was.
        """
        if hints is None:
            hints = _foreign_hints(function) if foreign else resolved_hints(function)
        self.positional: list[tuple[str, Check, Path]] = []
        self.named: dict[str, Check] = {}
        self.only_positional: list[str] = []
        self.required: list[str] = []
        self.required_positional = 0
        self.filled: dict[str, Callable[[], Any]] = {}
        self._foreign = foreign
        # As a host would send them.
        self._defaults: dict[str, Any] = {}
        self.rest: Check | None = None
        self.other: Check | None = None
        for parameter in _parameters(function):
            self._add(parameter, hints)
        self._exact = self._exact_types()
        self._needed = frozenset({*self.required, *self.filled})
        # The same by name; None if values of any type pass.
        self._exact_named: dict[str, frozenset[type] | None] = {
            name: None if type(check) is AnyCheck else check.exact
            for name, check in self.named.items()
            if name not in self.only_positional
        }
        self.returns_stream = self.returns_async = False
        self.stream_result: Check | None = None
        streams = _STREAMS | _ITERABLES if _generates(function) else _STREAMS
        self.result = self._result(hints.get("return", object), streams)

    def schema(self) -> Schema:
        """Returns the JSON schema (2020-12) of the keyword arguments."""
        definitions = SchemaDefinitions()
        properties: Schema = {}
        for name, check in self._all():
            properties[name] = check.schema(definitions)
            if name in self._defaults:
                properties[name]["default"] = self._defaults[name]
        other = self.other.schema(definitions) if self.other is not None else False
        return definitions.added_to(
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": properties,
                "required": self.required,
                "additionalProperties": other,
            }
        )

    def passes(self, arguments: list[Any]) -> bool:
        """Returns whether positional arguments need no look at each, for which their
        types are enough."""
        exact = self._exact.get(len(arguments))
        if exact is None:
            return False
        for i, types in exact:
            if type(arguments[i]) not in types:
                return False
        return True

    def passes_named(self, arguments: dict[Any, Any]) -> bool:
        """Returns the same about arguments that are given by name."""
        exact_named = self._exact_named
        for name, value in arguments.items():
            exact = exact_named.get(name, _NO_TYPE)
            if exact is not None and type(value) not in exact:
                return False
        return arguments.keys() >= self._needed

    def _exact_types(self) -> dict[int, list[tuple[int, frozenset[type]]]]:
        """Returns, for each number of positional arguments that can be enough, which of
        them need to have which types to pass as they are."""
        positions = {name: i for i, (name, _, _) in enumerate(self.positional)}
        if not positions.keys() >= {*self.required, *self.filled}:
            return {}
        exact = [
            (i, check.exact)
            for i, (_, check, _) in enumerate(self.positional)
            if type(check) is not AnyCheck
        ]
        most = len(self.positional)
        least = max(
            [self.required_positional, *(positions[n] + 1 for n in self.filled)]
        )
        return {
            count: [pair for pair in exact if pair[0] < count]
            for count in range(least, most + 1)
        }

    def describe_no_stream(self) -> None:
        """Notes that the function makes no stream, whatever its annotation, which a
        decorator may have copied, says."""
        self.result, self.stream_result = AnyCheck(), None

    def check_of(self, name: str) -> Check | None:
        """Returns the check of an argument; None if there is no such argument."""
        return self.named.get(name, self.other)

    def written(self) -> str:
        """Returns the parameters as a person would write them."""
        return ", ".join(
            f"{name}: {check.expected}{self._written_default(name)}"
            for name, check in self._all()
        )

    def _written_default(self, name: str) -> str:
        if name in self.required:
            return ""
        return f" = {self._defaults[name]!r}" if name in self._defaults else " = ..."

    def _all(self) -> list[tuple[str, Check]]:
        positional = {name: check for name, check, _ in self.positional}
        return list({**positional, **self.named}.items())

    def _add(self, parameter: Parameter, hints: dict[str, Any]) -> None:
        name = parameter.name
        hint = hints.get(name, object)
        is_unpacked = getattr(origin_of(hint), "_name", None) == "Unpack"
        if is_unpacked and parameter.kind == OTHER:
            (hint,) = parts_of(hint)
        if parameter.kind == REST and (parts := unpacked(hint)) is not None:
            hint = self._each_of(name, hint, parts)
        default = parameter.default
        if type(default) not in _USUAL_DEFAULTS:
            # Most defaults are none of these.
            from snakepit_bridge.tools.marked_defaults import marked_default

            try:
                hint, default, make = marked_default(hint, default, self._foreign)
            except Unsupported as error:
                raise SignatureInvalid(f"parameter {name!r}: {error}") from None
            if make is not None:
                self.filled[name] = make
        check = _compiled(f"parameter {name!r}", hint)
        required = default is NO_DEFAULT
        if parameter.kind == REST:
            self.rest = check
            return
        if parameter.kind == OTHER:
            if is_unpacked and isinstance(check, ObjectCheck):
                # Of `**options: Unpack[Options]`, each key is a parameter.
                self.named.update(check.items)
                self.required += [key for key in check.items if key in check.required]
            else:
                self.other = check
            return
        if parameter.kind != KEYWORD_ONLY:
            self.positional.append((name, check, (None, key_part(name))))
            if required:
                self.required_positional = len(self.positional)
        self.named[name] = check
        if parameter.kind == POSITIONAL_ONLY:
            self.only_positional.append(name)
        if required:
            self.required.append(name)
        else:
            # Some have no encoding or no JSON, and an encoder may raise anything.
            with contextlib.suppress(Exception):
                default = decode(encode(default))
                _check_json(default)
                self._defaults[name] = default

    def _each_of(self, name: str, hint: Any, parts: tuple[Any, ...]) -> Any:
        """Returns the type of each argument of `*args: *tuple[X, ...]`."""
        if len(parts) == 2 and parts[1] is Ellipsis:
            return parts[0]
        if self._foreign:
            return object
        raise SignatureInvalid(
            f"parameter {name!r}: {hint} is not one type for each argument; write these "
            "arguments as parameters of their own"
        )

    def _result(self, annotation: Any, streams: frozenset[str]) -> Check:
        origin = origin_of(annotation) or annotation
        origin_name = getattr(origin, "__name__", None)
        if origin_name in streams:
            self.returns_stream = True
            self.returns_async = origin.__name__.startswith("Async")
            # Each import makes every start slower.
            from snakepit_bridge.tools.stream_result import stream_parts

            annotation, returned = stream_parts(annotation)
            if returned not in (None, type(None)):
                self.stream_result = _described(returned)
        elif (getattr(origin, "__module__", None), origin_name) in _LATER:
            self.returns_async = True
            annotation = (parts_of(annotation) or (object,))[-1]
        return _described(annotation)


def _check_json(value: Any) -> None:
    """Raises `ValueError` or `TypeError` if there is no JSON of it."""
    if type(value) is int and not has_digits(value):
        raise ValueError("too many digits")
    # Most defaults are one of these, and each import makes every start slower.
    if type(value) not in (bool, int, str, type(None)):
        json.dumps(value, allow_nan=False)


def resolved_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Returns the annotations of a function, by name.

    Raises:
        SignatureInvalid: one cannot be resolved.
    """
    try:
        # A method has its annotations on the function, a partial where it leads.
        function = callee(function)
        target = unwrapped(getattr(function, "func", function))
        target = getattr(target, "func", target)
        hints = hints_of(target)
        if has_own_result(function):
            own = _innermost(function).__annotations__["return"]
            if isinstance(own, str):
                # It was written where the decorator is.
                own = eval(own, _innermost(function).__globals__)
            hints = {**hints, "return": type(None) if own is None else own}
        return hints
    except Exception as error:
        raise SignatureInvalid(
            f"its annotations cannot be resolved: {type(error).__name__}: {error}; "
            "import what they name at run time too"
        ) from error


def has_own_result(function: Callable[..., Any]) -> bool:
    """Returns whether a decorator's wrapper says itself what it returns, instead of what
    the wrapped function does."""
    own = _innermost(function)
    if not hasattr(own, "__wrapped__"):
        return False
    annotations = getattr(own, "__annotations__", {})
    inner = getattr(unwrapped(own), "__annotations__", {})
    return "return" in annotations and annotations.get("return") != inner.get("return")


def _innermost(function: Any) -> Any:
    """Returns the function of a method or of a `functools.partial`."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__func__", function)


def _foreign_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Returns the annotations that a tool could have."""
    # A class is called like its constructor.
    is_class = isinstance(function, type)
    try:
        hints = resolved_hints(vars(function)["__init__"] if is_class else function)
    except (SignatureInvalid, KeyError):
        return {}
    usable = {}
    for name, annotation in hints.items():
        with contextlib.suppress(Unsupported):
            if name != "return":
                compile_annotation(annotation)
            usable[name] = annotation
    if is_class:
        usable.pop("return", None)
    return usable


def _parameters(function: Callable[..., Any]) -> list[Parameter]:
    try:
        return parameters_of(function)
    except ValueError:
        # A builtin: it reports wrong arguments when it is called.
        return [Parameter("arguments", REST), Parameter("named", OTHER)]


def _generates(function: Callable[..., Any]) -> bool:
    function = unwrapped(callee(function))
    return is_generator(function) or is_async_generator(function)


def _described(annotation: Any) -> Check:
    """Returns the check of an answer, which serves descriptions only."""
    try:
        return compile_annotation(annotation, answered=True)
    except Unsupported:
        # The value decides whether it can be sent; a subclass may allow it.
        return AnyCheck()


def _compiled(subject: str, annotation: Any) -> Check:
    try:
        return compile_annotation(annotation)
    except Unsupported as error:
        raise SignatureInvalid(f"{subject}: {error}") from None
