"""Tools whose function runs several calls at a time."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from snakepit_bridge.tools.signature import (
    Signature,
    SignatureInvalid,
    resolved_hints,
)

_LISTS = (list, Sequence, Iterable)
_LATER = ("Awaitable", "Coroutine")


class Batch:
    """Lets a tool run several calls at a time: `@tool(batch=Batch(max=32))`.

    The function takes one list, with the argument of each call, and returns a list of
    the same length, with the answer of each. A worker gets several calls at a time only
    if the pool's `callsPerWorker` is above 1. The best value is the same as `max`.

    Attributes:
        max: the most calls in one batch.
        wait_ms: after a batch of several calls, how many milliseconds the next batch
            waits for as many calls again. A single call does not wait.
    """

    __slots__ = ("max", "wait_ms")

    def __init__(self, max: int = 32, wait_ms: float = 5) -> None:
        """Checks both.

        Raises:
            ValueError: `max` is less than 1, or `wait_ms` is negative.
        """
        if not max >= 1:
            raise ValueError(f"a batch has 1 call or more, so max={max!r} is too few")
        if not 0 <= wait_ms < float("inf"):
            raise ValueError(f"wait_ms is a time of 0 or more, not {wait_ms!r}")
        self.max = max
        self.wait_ms = wait_ms

    def __repr__(self) -> str:
        return f"Batch(max={self.max}, wait_ms={self.wait_ms:g})"


class BatchResultInvalid(Exception):
    """The function of a batch did not return one answer for each call."""


def batch_answers(returned: object, calls: int) -> list[object]:
    """Returns the answers that the function of a batch returned, as a worker reads them.

    Args:
        returned: a list, a tuple, an array or another sequence: an element for each
            call, in the order of the calls. An exception in it fails that call.
        calls: how many there are.

    Raises:
        BatchResultInvalid: it is no sequence, or has another length.
    """
    if isinstance(returned, (str, bytes, bytearray, dict, set, frozenset)) or not (
        hasattr(returned, "__len__") and hasattr(returned, "__getitem__")
    ):
        raise BatchResultInvalid(
            f"a batch of {calls} calls returned {type(returned).__name__}; return a "
            "list with one answer for each call"
        )
    answers = list(typing.cast(Iterable[object], returned))
    if len(answers) != calls:
        raise BatchResultInvalid(
            f"a batch of {calls} calls returned {len(answers)} answers; return one for "
            "each call, in their order, and an exception for a call that fails"
        )
    return answers


def each_signature(function: Callable[..., Any]) -> Signature:
    """Returns the signature of one call: an element of the list in, one of it out.

    Raises:
        SignatureInvalid: the function does not take one list.
    """
    parameters = list(inspect.signature(function).parameters.values())
    if len(parameters) != 1 or parameters[0].kind not in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    ):
        raise SignatureInvalid(
            "the function of a batch takes one argument, the list of what each call "
            f"sends, and this one takes {len(parameters)}; send several values as a dict"
        )
    hints = resolved_hints(function)
    name = parameters[0].name
    each = dict(hints)
    if name in hints:
        each[name] = _element(f"parameter {name!r}", hints[name])
    if "return" in hints:
        each["return"] = _answer(hints["return"])
    return Signature(function, each)


def _element(subject: str, annotation: Any) -> Any:
    """Returns what a list of this annotation has in it."""
    if annotation is Any:
        return Any
    origin = typing.get_origin(annotation) or annotation
    if origin not in _LISTS:
        raise SignatureInvalid(
            f"{subject} of a batch is a list with an element for each call, as "
            f"`list[str]`, not {annotation!r}"
        )
    return (*typing.get_args(annotation), Any)[0]


def _answer(annotation: Any) -> Any:
    origin = typing.get_origin(annotation) or annotation
    parts = typing.get_args(annotation)
    if getattr(origin, "__name__", None) in _LATER:
        return _answer(parts[-1] if parts else Any)
    if origin not in _LISTS:
        # An array, for example: its rows are the answers.
        return Any
    return _without_errors((*parts, Any)[0])


def _without_errors(annotation: Any) -> Any:
    """Leaves out of a union the exceptions, which fail a call instead."""
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return annotation
    kept = tuple(
        part
        for part in typing.get_args(annotation)
        if not (isinstance(part, type) and issubclass(part, BaseException))
    )
    return typing.Union[kept] if kept else Any  # noqa: UP007
