"""One tool: a function that the host can call."""

from __future__ import annotations

from collections.abc import Callable

from snakepit_bridge.own_imports import standard
from snakepit_bridge.tools.annotations.check import Check, Unsupported
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.annotations.origin import hints_of
from snakepit_bridge.tools.declaration import NO_INPUT, Answers, ToolMark
from snakepit_bridge.tools.function_shape import (
    is_async_generator,
    is_coroutine,
    is_generator,
    unwrapped,
)
from snakepit_bridge.tools.signature import Signature, SignatureInvalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Tool", "ToolKind", "qualified_name"]

if TYPE_CHECKING:
    import inspect
else:
    inspect = standard("inspect")


class ToolKind:
    """How a tool runs and answers; not an `enum`, for the reason given at `Answers`.

    Attributes:
        value: its name.
        streams: whether it answers with chunks.
        is_async: whether it runs on the main thread's event loop.
    """

    FUNCTION: ToolKind
    COROUTINE: ToolKind
    GENERATOR: ToolKind
    ASYNC_GENERATOR: ToolKind

    def __init__(self, value: str) -> None:
        self.value = value
        self.streams = value.endswith("generator")
        self.is_async = value in ("coroutine", "async generator")


ToolKind.FUNCTION = ToolKind("function")
ToolKind.COROUTINE = ToolKind("coroutine")
ToolKind.GENERATOR = ToolKind("generator")
ToolKind.ASYNC_GENERATOR = ToolKind("async generator")


class Tool:
    """A tool, ready to be called.

    Attributes:
        name: what the host calls it.
        qualified_name: the function's `module.QualifiedName`.
        function: runs one call: the function, or the method bound to its toolset.
        kind: how it runs and answers.
        streams: whether it answers with chunks.
        is_async: whether it runs on the main thread's event loop.
        signature: the arguments of one call.
        batch: how many calls run together; None where each is by itself.
        together: the function that runs a batch.
        input: the check of an item of its input stream; None if it has none.
        answers: how what it returns reaches the host.
        is_plain: whether it is a function, or a coroutine that is no batch, which returns
            a value.
        description: its docstring.
    """

    # What the names of the bridge's own tools begin with.
    RESERVED = "snakepit."

    def __init__(self, name: str, function: Callable[..., Any], mark: ToolMark) -> None:
        """Examines a function that is decorated with `tool`.

        Raises:
            SignatureInvalid: it cannot be called by a host.
        """
        self.name = name
        self.function = self.together = function
        self.qualified_name = qualified_name(function)
        self.batch = mark.batch
        self.signature = _signature(function, mark)
        self.kind = _kind(function, self.signature)
        # Attributes of the tool itself, where each call finds them faster.
        self.streams = self.kind.streams
        self.is_async = self.kind.is_async
        self.input = _input(mark)
        self.answers = mark.answers or _answers(mark, self.signature.result)
        self.is_plain = (
            not self.streams
            and not (self.is_async and self.batch is not None)
            and self.answers is not Answers.REFERENCE
        )
        if self.batch is not None:
            self._take_one_call()

    @property
    def description(self) -> str:
        # Few workers are asked to describe their tools.
        return inspect.getdoc(self.together) or ""

    def _take_one_call(self) -> None:
        if self.kind.streams or self.input is not None:
            raise SignatureInvalid(
                "a batch returns one list; it cannot yield, nor read an input stream"
            )
        # Few tools are batches, and each import makes every start slower.
        from snakepit_bridge.calls.batch_of_one import batch_of_one

        self.function = batch_of_one(self.together, self.kind.is_async)


def _signature(function: Callable[..., Any], mark: ToolMark) -> Signature:
    if mark.batch is None:
        return Signature(function, foreign=mark.foreign)
    from snakepit_bridge.tools.batch import each_signature

    return each_signature(function)


def qualified_name(function: Callable[..., Any]) -> str:
    """Returns `module.QualifiedName`."""
    # A `functools.partial` has neither of them.
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{module}.{name}"


def _kind(function: Callable[..., Any], signature: Signature) -> ToolKind:
    # A wrapper made by a decorator returns what the wrapped function returns.
    for candidate in (function, unwrapped(function)):
        if is_async_generator(candidate):
            return ToolKind.ASYNC_GENERATOR
        if is_coroutine(candidate):
            return ToolKind.COROUTINE
        if is_generator(candidate):
            return ToolKind.GENERATOR
    if signature.returns_stream:
        hints = hints_of(unwrapped(function))
        asynchronous = "Async" in str(hints["return"])
        return ToolKind.ASYNC_GENERATOR if asynchronous else ToolKind.GENERATOR
    return ToolKind.FUNCTION


def _answers(mark: ToolMark, result: Check) -> Answers:
    if not _has_reference(result):
        return Answers.EITHER if mark.foreign else Answers.VALUE
    # A module that few tools need.
    from snakepit_bridge.tools.annotations.unions import UnionCheck

    members = result.members if isinstance(result, UnionCheck) else [result]
    if any(not each.by_reference and each.expected != "None" for each in members):
        raise SignatureInvalid(
            f"it returns {result.expected}; a Handle is all that a tool returns, or None"
        )
    return Answers.REFERENCE


def _has_reference(check: Check) -> bool:
    return check.by_reference or any(map(_has_reference, check.parts))


def _input(mark: ToolMark) -> Check | None:
    if mark.takes_input is NO_INPUT:
        return None
    try:
        return compile_annotation(mark.takes_input)
    except Unsupported as error:
        raise SignatureInvalid(f"takes_input: {error}") from None
