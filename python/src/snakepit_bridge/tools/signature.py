"""The arguments of a tool: from what the host sent to what the function takes."""

from __future__ import annotations

import difflib
import inspect
import json
import typing
from collections.abc import Callable
from typing import Any, NamedTuple

from snakepit_bridge.tools.annotations.check import (
    AnyCheck,
    Check,
    Mismatch,
    Schema,
    type_name,
)
from snakepit_bridge.tools.annotations.compile import Unsupported, compile_annotation
from snakepit_bridge.tools.annotations.json_schema import SchemaDefinitions
from snakepit_bridge.values.encode import encode
from snakepit_bridge.values.no_image import Path, key_place, path_text

__all__ = ["Arguments", "ArgumentsInvalid", "Signature", "SignatureInvalid"]

_KINDS = inspect.Parameter
_STREAMS = frozenset({"Iterator", "Generator", "AsyncIterator", "AsyncGenerator"})
# What a generator may promise, too; from any other function they are values.
_ITERABLES = frozenset({"Iterable", "AsyncIterable"})


class SignatureInvalid(Exception):
    """The signature of a tool is not one that a host can call."""


class ArgumentsInvalid(Exception):
    """The arguments of a call do not fit the tool.

    Attributes:
        path: where, as `$.images[3]`.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path != "$" else problem)
        self.path = path


class Arguments(NamedTuple):
    """What the function is called with."""

    positional: list[Any]
    keywords: dict[str, Any]


class Signature:
    """The signature of one tool, its annotations compiled.

    Attributes:
        positional: the parameters that a list can give, in order, with the path
            of each.
        named: the parameters that a dict can give.
        only_positional: the names of those that have none in Python, in order.
        required: the names of those without a default.
        rest: the check of `*args`, if there is one.
        other: the check of `**kwargs`, if there is one.
        result: the check of what the tool returns, or of one chunk; it serves
            descriptions only.
        returns_stream: whether the annotation promises an iterator.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        """Reads the signature of a function or bound method.

        Raises:
            SignatureInvalid: an annotation cannot be resolved, or no value that
                crosses has its type.
        """
        hints = _hints(function)
        self.positional: list[tuple[str, Check, Path]] = []
        self.named: dict[str, Check] = {}
        self.only_positional: list[str] = []
        self.required: list[str] = []
        # They come first: Python lets none follow one with a default.
        self._required_positional = 0
        self._defaults: dict[str, Any] = {}
        self.rest: Check | None = None
        self.other: Check | None = None
        for parameter in inspect.signature(function).parameters.values():
            self._add(parameter, hints)
        self.returns_stream = False
        streams = _STREAMS | _ITERABLES if _generates(function) else _STREAMS
        self.result = self._result(hints.get("return", Any), streams)

    def bind(self, given: Any) -> Arguments:
        """Returns what to call the function with.

        Args:
            given: a dict of keyword arguments, a list of positional ones, or
                None for none.

        Raises:
            ArgumentsInvalid: they do not fit.
        """
        try:
            if given is None:
                given = {}
            if isinstance(given, dict):
                return self._bind_keywords(given)
            if isinstance(given, (list, tuple)):
                return self._bind_positional(given)
        except Mismatch as mismatch:
            raise ArgumentsInvalid(path_text(mismatch.path), str(mismatch)) from None
        except RecursionError:
            raise ArgumentsInvalid("$", "nested too deeply for this tool") from None
        raise ArgumentsInvalid(
            "$",
            "arguments are a map of names to values, or a list; "
            f"got {type_name(given)}",
        )

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
        return [
            *((name, check) for name, check, _ in self.positional),
            *(
                (name, check)
                for name, check in self.named.items()
                if all(name != known for known, _, _ in self.positional)
            ),
        ]

    def _add(self, parameter: inspect.Parameter, hints: dict[str, Any]) -> None:
        name = parameter.name
        check = _compiled(f"parameter {name!r}", hints.get(name, Any))
        required = parameter.default is _KINDS.empty
        if parameter.kind is _KINDS.VAR_POSITIONAL:
            self.rest = check
            return
        if parameter.kind is _KINDS.VAR_KEYWORD:
            self.other = check
            return
        if parameter.kind is not _KINDS.KEYWORD_ONLY:
            self.positional.append((name, check, (None, key_place(name))))
            if required:
                self._required_positional += 1
        self.named[name] = check
        if parameter.kind is _KINDS.POSITIONAL_ONLY:
            self.only_positional.append(name)
        if required:
            self.required.append(name)
        elif _is_json(parameter.default):
            self._defaults[name] = parameter.default

    def _result(self, annotation: Any, streams: frozenset[str]) -> Check:
        origin = typing.get_origin(annotation) or annotation
        if getattr(origin, "__name__", None) in streams:
            self.returns_stream = True
            parts = typing.get_args(annotation)
            annotation = parts[0] if parts else Any
        elif getattr(origin, "__name__", None) in ("Awaitable", "Coroutine"):
            parts = typing.get_args(annotation)
            annotation = parts[-1] if parts else Any
        try:
            return compile_annotation(annotation)
        except Unsupported:
            # The value itself says whether it can cross; a subclass may.
            return AnyCheck()

    def _bind_keywords(self, given: dict[Any, Any]) -> Arguments:
        keywords: dict[str, Any] = {}
        for name, value in given.items():
            check = self.named.get(name, self.other)
            if check is None or not isinstance(name, str):
                raise self._unexpected(name)
            keywords[name] = check.check(value, (None, key_place(name)))
        for name in self.required:
            if name not in keywords:
                raise self._missing(name)
        if not self.only_positional:
            return Arguments([], keywords)
        return self._move_positional(keywords)

    def _move_positional(self, keywords: dict[str, Any]) -> Arguments:
        """Takes the arguments that have no name in Python out of the named ones."""
        positional: list[Any] = []
        for name, _, _ in self.positional:
            if name not in self.only_positional:
                break
            if name not in keywords:
                # Those behind it cannot be given either: Python needs this one.
                for later in keywords.keys() & self.only_positional:
                    problem = f"cannot be given without {name!r}"
                    raise ArgumentsInvalid(f"$.{later}", problem)
                break
            positional.append(keywords.pop(name))
        return Arguments(positional, keywords)

    def _bind_positional(self, given: list[Any] | tuple[Any, ...]) -> Arguments:
        positional: list[Any] = []
        for i, value in enumerate(given):
            if i < len(self.positional):
                _, check, path = self.positional[i]
            elif self.rest is not None:
                check, path = self.rest, (None, i)
            else:
                most = len(self.positional)
                raise ArgumentsInvalid(
                    f"$[{i}]",
                    f"at most {most} positional arguments, got {len(given)}",
                )
            positional.append(check.check(value, path))
        filled = min(len(given), self._required_positional)
        if filled < len(self.required):
            given_names = {name for name, _, _ in self.positional[: len(given)]}
            for name in self.required:
                if name not in given_names:
                    raise self._missing(name)
        return Arguments(positional, {})

    def _missing(self, name: str) -> ArgumentsInvalid:
        expected = self.named[name].expected
        return ArgumentsInvalid(f"$.{name}", f"missing argument, expected {expected}")

    def _unexpected(self, name: object) -> ArgumentsInvalid:
        if not isinstance(name, str):
            return ArgumentsInvalid("$", f"an argument's name is text, not {name!r}")
        near = difflib.get_close_matches(name, self.named, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        takes = f"takes {', '.join(self.named)}" if self.named else "takes none"
        path = f"${key_place(name)}"
        return ArgumentsInvalid(path, f"unexpected argument{hint} ({takes})")


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        # A method has its annotations on the function, a partial where it leads.
        target = inspect.unwrap(function)
        target = getattr(target, "func", target)
        return typing.get_type_hints(target, include_extras=True)
    except Exception as error:
        raise SignatureInvalid(
            f"its annotations cannot be resolved: {type(error).__name__}: {error}; "
            "import what they name at run time too"
        ) from error


def _generates(function: Callable[..., Any]) -> bool:
    function = inspect.unwrap(function)
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def _compiled(what: str, annotation: Any) -> Check:
    try:
        return compile_annotation(annotation)
    except Unsupported as error:
        raise SignatureInvalid(f"{what}: {error}") from None


def _is_json(value: object) -> bool:
    if type(value) in (dict, list, str, int, float, bool, type(None)):
        try:
            encode(value)
            json.dumps(value, allow_nan=False)
            return True
        except (TypeError, ValueError):
            return False
    return False
