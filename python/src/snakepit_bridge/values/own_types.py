"""Encoders and decoders of a program's own types."""

from __future__ import annotations

import typing
from collections.abc import Callable
from datetime import date, datetime
from typing import Any, TypeVar

from snakepit_bridge.own_imports import inspect
from snakepit_bridge.values.encode import FORMS, BuiltinForm

# By the type: the functions under `encoder`, and those under `decoder`.
ENCODERS: dict[type, BuiltinForm] = {}
DECODERS: dict[Any, Callable[[Any], Any]] = {}
# By "encoder" or "decoder" and the type: the load of the module that has the function.
_LOADS: dict[tuple[str, Any], object] = {}
_OWN_IMAGE = (
    *(type(None), bool, int, float, str, bytes, bytearray, memoryview),
    *(list, tuple, dict, set, frozenset, date, datetime),
)

_Kind = TypeVar("_Kind")
_Encoder = TypeVar("_Encoder", bound=Callable[..., object])
_Decoder = TypeVar("_Decoder", bound=Callable[..., object])


def encoder(kind: type[_Kind]) -> Callable[[_Encoder], _Encoder]:
    """Registers a function that converts instances of a type to plain data, to be sent.

    The function takes an instance (also one of a subclass without its own encoder) and
    returns any value that can be sent. Its return annotation determines the generated
    TypeScript type. For a dataclass or model, it replaces the default form.

    Args:
        kind: the type.

    Raises:
        TypeError: `kind` is not a type, is a type that needs no encoder, such as `str`,
            or already has an encoder.
    """
    if not isinstance(kind, type):
        raise TypeError(f"@encoder needs a type, as in @encoder(Money), got {kind!r}")
    if kind in _OWN_IMAGE:
        raise TypeError(
            f"{kind.__name__} needs no encoder; make a subclass, and an encoder for that"
        )

    def register(function: _Encoder) -> _Encoder:
        _admit("encoder", kind, ENCODERS.get(kind), function)
        ENCODERS[kind] = function
        FORMS.clear()
        return function

    return register


def decoder(function: _Decoder) -> _Decoder:
    """Registers a function that converts what a caller sent to an argument.

    Its return annotation is the type: a tool's parameter with that annotation gets what
    the function returns, which must be an instance of it. The annotation of the
    function's parameter describes what a caller sends, which is checked first. `ValueError`, `TypeError`
    and `AssertionError` from the function reject the argument with their message.

    Raises:
        TypeError: the function does not have exactly one parameter and a class as return
            annotation, or that class already has a decoder.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    kind = hints.get("return")
    if len(inspect.signature(function).parameters) != 1 or not isinstance(kind, type):
        raise TypeError(
            f"@decoder is for a function of one parameter whose return annotation is "
            f"the class that it makes, such as (text: str) -> Money; got {function!r}"
        )
    if kind in _OWN_IMAGE:
        raise TypeError(
            f"{kind.__name__} needs no decoder; make a subclass, and a decoder for that"
        )
    _admit("decoder", kind, DECODERS.get(kind), function)
    DECODERS[kind] = function
    return function


def _admit(what: str, kind: Any, known: Any, function: Any) -> None:
    """Refuses a second function for a type, unless its module is loaded again."""
    load = getattr(function, "__globals__", {}).get("__spec__")
    known_load = _LOADS.get((what, kind))
    if known is not None and _origin(known) != _origin(function):
        # A cell of a notebook that runs again is in another file.
        is_again = _module(known) == _module(function) and (
            known_load is not load or _file(known) != _file(function)
        )
        if not is_again:
            raise TypeError(
                f"{kind.__qualname__} has two functions under @{what}: "
                f"{_origin(known)} and {_origin(function)}; remove one of them"
            )
    _LOADS[what, kind] = load


def _module(function: Any) -> str | None:
    return getattr(function, "__module__", None)


def _file(function: Any) -> str | None:
    code = getattr(function, "__code__", None)
    return code and code.co_filename


def _origin(function: Any) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    code = getattr(function, "__code__", None)
    where = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    return f"{_module(function)}.{name}{where}"
