"""One tool: a function that the host can call."""

from __future__ import annotations

from collections.abc import Callable

from snakepit_bridge.own_imports import inspect
from snakepit_bridge.tools.annotations.check import Check, Unsupported
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.declaration import NO_INPUT, Answers, ToolMark
from snakepit_bridge.tools.function_shape import (
    callee,
    implementations,
    is_async_generator,
    is_coroutine,
    is_generator,
    says_what_it_is,
)
from snakepit_bridge.tools.signature import (
    Signature,
    SignatureInvalid,
    has_own_result,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
        streams: whether it answers with chunks; of an open one, whether it is expected.
        is_async: whether it runs on the main thread's event loop.
        is_open: whether only a call shows what it makes, a stream or one result.
        awaits: whether an awaitable that it returns is awaited, if it is not `is_async`.
        may_await: whether that is expected.
        signature: the arguments of one call.
        batch: how many calls run together; None where each is by itself.
        together: the function that runs a batch.
        input: the check of an item of its input stream; None if it has none.
        answers: how what it returns reaches the host.
        is_usual: whether it is a function, or a coroutine that is no batch, which returns
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
        self.kind, expected = _kind(function, self.signature, mark)
        # Attributes of the tool itself, where each call finds them faster.
        self.streams = (expected or self.kind).streams
        self.is_async = self.kind.is_async
        self.is_open = self.streams and not self.kind.streams
        self.may_await = expected is not None and expected.is_async
        if self.signature.returns_stream and not self.streams:
            self.signature.describe_no_stream()
        self.input = _input(mark)
        self.answers = mark.answers or _answers(mark, self.signature.result)
        # An object that stays in the worker may be awaitable itself.
        self.awaits = not name.startswith(self.RESERVED) and (
            self.may_await or self.answers is not Answers.REFERENCE
        )
        self.is_usual = (
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
        from snakepit_bridge.calls.context.batch_call import batch_of_one

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


def _kind(
    function: Callable[..., Any], signature: Signature, mark: ToolMark
) -> tuple[ToolKind, ToolKind | None]:
    """Returns how a tool runs; of a function whose calls may make anything, also what is
    expected of them.
    """
    called = callee(function)
    if says_what_it_is(called):
        return _own_kind(called) or _promised(signature) or ToolKind.FUNCTION, None
    kinds = (_own_kind(each) for each in implementations(called))
    inside = next(filter(None, kinds), ToolKind.FUNCTION)
    if mark.batch is not None:
        # A batch makes one list, whatever is inside.
        is_later = inside is ToolKind.COROUTINE
        return ToolKind.FUNCTION, inside if is_later else ToolKind.FUNCTION
    promised = _promised(signature)
    if has_own_result(called):
        return ToolKind.FUNCTION, promised or ToolKind.FUNCTION
    return ToolKind.FUNCTION, promised if promised and promised.streams else inside


def _own_kind(function: Callable[..., Any]) -> ToolKind | None:
    if is_async_generator(function):
        return ToolKind.ASYNC_GENERATOR
    if is_coroutine(function):
        return ToolKind.COROUTINE
    return ToolKind.GENERATOR if is_generator(function) else None


def _promised(signature: Signature) -> ToolKind | None:
    """Returns what the annotation of the result says, if it says something."""
    if signature.returns_stream:
        is_async = signature.returns_async
        return ToolKind.ASYNC_GENERATOR if is_async else ToolKind.GENERATOR
    return ToolKind.COROUTINE if signature.returns_async else None


def _answers(mark: ToolMark, result: Check) -> Answers:
    if not _has_reference(result):
        return Answers.EITHER if mark.foreign else Answers.VALUE
    # A module that few tools need.
    from snakepit_bridge.tools.annotations.containers import UnionCheck

    members = result.members if isinstance(result, UnionCheck) else [result]
    if any(not each.by_reference and each.expected != "None" for each in members):
        raise SignatureInvalid(
            f"it returns {result.expected}; a Handle is all that a tool returns, or None"
        )
    return Answers.REFERENCE


def _has_reference(check: Check) -> bool:
    return check.by_reference or any(map(_has_reference, check.parts))


def _input(mark: ToolMark) -> Check | None:
    if mark.input is NO_INPUT:
        return None
    try:
        return compile_annotation(mark.input)
    except Unsupported as error:
        raise SignatureInvalid(f"input: {error}") from None
