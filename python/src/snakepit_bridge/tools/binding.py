"""Converts the arguments of a call from the host's form to the function's."""

from __future__ import annotations

from snakepit_bridge.own_imports import difflib
from snakepit_bridge.tools.annotations.check import Mismatch, type_name
from snakepit_bridge.tools.signature import Signature
from snakepit_bridge.values.value_not_transferable import key_part, path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeAlias


class ArgumentsInvalid(Exception):
    """The arguments of a call do not fit the tool.

    Attributes:
        path: where, as `$.images[3]`.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path != "$" else problem)
        self.path = path


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns the end of a sentence that says that there is nothing of this name."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


# What the function is called with: positional arguments and keywords.
Arguments: TypeAlias = "tuple[list[Any], dict[str, Any]]"


def bind(signature: Signature, arguments: Any) -> Arguments:
    """Returns what to call a tool's function with.

    Args:
        signature: that of the tool.
        given: a dict of keyword arguments, a list of positional ones, or
            None for none.

    Raises:
        ArgumentsInvalid: they do not fit.
    """
    try:
        if type(arguments) is list and signature.passes(arguments):
            return arguments, {}
        if arguments is None:
            arguments = {}
        if isinstance(arguments, dict):
            if signature.passes_named(arguments):
                return [], arguments
            return _bind_keywords(signature, arguments)
        if isinstance(arguments, (list, tuple)):
            return _bind_positional(signature, arguments)
    except Mismatch as mismatch:
        raise ArgumentsInvalid(path_text(mismatch.path), str(mismatch)) from None
    except RecursionError:
        raise ArgumentsInvalid("$", "nested too deeply for this tool") from None
    raise ArgumentsInvalid(
        "$",
        f"arguments are a map of names to values, or a list; got {type_name(arguments)}",
    )


def _bind_keywords(signature: Signature, arguments: dict[Any, Any]) -> Arguments:
    keywords: dict[str, Any] = {}
    for name, value in arguments.items():
        check = signature.named.get(name, signature.other)
        if check is None or not isinstance(name, str):
            raise _unexpected(signature, name)
        passes = type(value) in check.exact
        keywords[name] = value if passes else check.check(value, (None, key_part(name)))
    for name in signature.required:
        if name not in keywords:
            raise _missing(signature, name)
    for name, make in signature.filled.items():
        if name not in keywords:
            keywords[name] = make()
    if not signature.only_positional:
        return [], keywords
    return _move_positional(signature, keywords)


def _move_positional(signature: Signature, keywords: dict[str, Any]) -> Arguments:
    """Takes the arguments that have no name in Python out of the named ones."""
    positional: list[Any] = []
    for name, _, _ in signature.positional:
        if name not in signature.only_positional:
            break
        if name not in keywords:
            # The arguments after it cannot be given either: Python needs this one.
            for later in keywords.keys() & signature.only_positional:
                problem = f"cannot be given without {name!r}"
                raise ArgumentsInvalid(f"$.{later}", problem)
            break
        positional.append(keywords.pop(name))
    return positional, keywords


def _bind_positional(
    signature: Signature, arguments: list[Any] | tuple[Any, ...]
) -> Arguments:
    positional: list[Any] = []
    for i, value in enumerate(arguments):
        if i < len(signature.positional):
            _, check, path = signature.positional[i]
        elif signature.rest is not None:
            check, path = signature.rest, (None, i)
        else:
            most = len(signature.positional)
            raise ArgumentsInvalid(
                f"$[{i}]",
                f"at most {most} positional arguments, got {len(arguments)}",
            )
        positional.append(check.check(value, path))
    given_names = {name for name, _, _ in signature.positional[: len(arguments)]}
    for name in signature.required:
        if name not in given_names:
            raise _missing(signature, name)
    if not signature.filled:
        return positional, {}
    keywords = {
        name: make()
        for name, make in signature.filled.items()
        if name not in given_names
    }
    if signature.only_positional and keywords:
        return _filled_positional(signature, positional, keywords)
    return positional, keywords


def _filled_positional(
    signature: Signature, positional: list[Any], keywords: dict[str, Any]
) -> Arguments:
    """Appends defaults of arguments that have no name in Python."""
    for name, _, _ in signature.positional[len(positional) :]:
        if name not in signature.only_positional or name not in keywords:
            break
        positional.append(keywords.pop(name))
    return positional, keywords


def _missing(signature: Signature, name: str) -> ArgumentsInvalid:
    expected = signature.named[name].expected
    return ArgumentsInvalid(f"$.{name}", f"missing argument, expected {expected}")


def _unexpected(signature: Signature, name: object) -> ArgumentsInvalid:
    if not isinstance(name, str):
        return ArgumentsInvalid("$", f"an argument's name is text, not {name!r}")
    hint = did_you_mean(name, signature.named)
    takes = f"takes {', '.join(signature.named)}" if signature.named else "takes none"
    path = f"${key_part(name)}"
    return ArgumentsInvalid(path, f"unexpected argument{hint} ({takes})")
