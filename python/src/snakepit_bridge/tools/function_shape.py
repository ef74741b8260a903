"""The facts that `inspect` reports about a function. For an ordinary function, they are
read here: importing `inspect` takes longer than reading all tools of a worker.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType

from snakepit_bridge.own_imports import inspect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Kinds of parameters, with the numbers that they have in `inspect`.
POSITIONAL_ONLY, POSITIONAL, REST, KEYWORD_ONLY, OTHER = range(5)
NO_DEFAULT: Any = object()
# Flags of code.
_HAS_REST, _HAS_OTHER = 0x4, 0x8
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200


class Parameter:
    """One parameter of a function."""

    # Not a named tuple: creating that class takes longer than reading all tools of a
    # worker.
    __slots__ = ("default", "kind", "name")

    def __init__(self, name: str, kind: int, default: Any = NO_DEFAULT) -> None:
        self.name = name
        self.kind = kind
        self.default = default


def parameters_of(function: Callable[..., Any]) -> list[Parameter]:
    """Returns the parameters of a callable.

    Raises:
        ValueError: they are not known, as for some builtins.
    """
    if isinstance(function, MethodType) and _is_ordinary(function.__func__):
        parameters = _parameters(function.__func__)
        if parameters and parameters[0].kind <= POSITIONAL:
            return parameters[1:]
    if _is_ordinary(function):
        return _parameters(function)
    return [
        Parameter(
            each.name,
            int(each.kind),
            NO_DEFAULT if each.default is each.empty else each.default,
        )
        for each in inspect.signature(function).parameters.values()
    ]


def _parameters(function: Any) -> list[Parameter]:
    code = function.__code__
    by_position = code.co_argcount
    end = by_position + code.co_kwonlyargcount
    names = code.co_varnames
    defaults = function.__defaults__ or ()
    required = by_position - len(defaults)
    parameters = [
        Parameter(
            name,
            POSITIONAL_ONLY if i < code.co_posonlyargcount else POSITIONAL,
            NO_DEFAULT if i < required else defaults[i - required],
        )
        for i, name in enumerate(names[:by_position])
    ]
    if code.co_flags & _HAS_REST:
        parameters.append(Parameter(names[end], REST))
        end += 1
    by_name = function.__kwdefaults__ or {}
    parameters += [
        Parameter(name, KEYWORD_ONLY, by_name.get(name, NO_DEFAULT))
        for name in names[by_position : by_position + code.co_kwonlyargcount]
    ]
    if code.co_flags & _HAS_OTHER:
        parameters.append(Parameter(names[end], OTHER))
    return parameters


def unwrapped(function: Any) -> Any:
    """Returns the function that decorators have wrapped."""
    if not hasattr(function, "__wrapped__"):
        return function
    return inspect.unwrap(function)


def is_generator(function: Any) -> bool:
    """Returns whether a call of it makes a generator."""
    if (flags := _flags(function)) is not None:
        return bool(flags & _GENERATOR)
    return inspect.isgeneratorfunction(function)


def is_coroutine(function: Any) -> bool:
    """Returns whether a call of it makes a coroutine."""
    if (flags := _flags(function)) is not None:
        return bool(flags & _COROUTINE)
    return inspect.iscoroutinefunction(function)


def is_async_generator(function: Any) -> bool:
    """Returns whether a call of it makes an asynchronous generator."""
    if (flags := _flags(function)) is not None:
        return bool(flags & _ASYNC_GENERATOR)
    return inspect.isasyncgenfunction(function)


def says_what_it_is(function: Any) -> bool:
    """Returns whether its own code, or a mark on it, says what a call of it makes: not so
    of a decorator's wrapper, which may make anything of what the wrapped function returns,
    nor of an object that only behaves as a function.
    """
    if isinstance(function, MethodType):
        function = function.__func__
    if type(function) is FunctionType and "__wrapped__" not in vars(function):
        return True
    if type(function) is functools.partial:
        return says_what_it_is(function.func)
    is_function = type(function) is FunctionType
    return is_function and (
        is_coroutine(function) or is_generator(function) or is_async_generator(function)
    )


def implementations(function: Any) -> list[Any]:
    """Returns the functions that a call of a wrapper may lead to, as far as they are known."""
    while type(function) is functools.partial:
        function = function.func
    registry = getattr(function, "registry", None)
    # Of `functools.singledispatch`, by the type of the first argument.
    dispatched = registry.values() if isinstance(registry, Mapping) else ()
    return [unwrapped(function), *map(unwrapped, dispatched)]


def bound_dispatch(method: Any, declared: Any) -> Any:
    """Returns a method of a toolset, as `getattr` has it; what a `singledispatchmethod`
    makes gets the signature of a method, which it lacks before Python 3.14.
    """
    is_dispatch = type(declared) is functools.singledispatchmethod
    if is_dispatch and type(method) is FunctionType:
        parameters = list(inspect.signature(declared.func).parameters.values())
        method.__signature__ = inspect.Signature(parameters[1:])  # type: ignore[attr-defined]
    return method


def callee(function: Any) -> Any:
    """Returns the method that a call of an object leads to; the function itself, if it is
    one.
    """
    if isinstance(
        function, (type, FunctionType, MethodType, BuiltinFunctionType)
    ) or hasattr(function, "__wrapped__"):
        return function
    call: Any = getattr(type(function), "__call__", None)  # noqa: B004 - its code
    is_method = type(call) is FunctionType and type(function) is not functools.partial
    return MethodType(call, function) if is_method else function


# A metaclass may have a `__dict__` of its own.
dict_of_class = type.__dict__["__dict__"].__get__


def attribute_of(item: object, name: str) -> Any:
    """Returns an attribute without running code of the object; None if it has none."""
    if not any(name in dict_of_class(kind) for kind in type(item).__mro__):
        try:
            own = object.__getattribute__(item, "__dict__")
        except AttributeError:
            return None
        if type(own) is dict:
            return own.get(name)
    return inspect.getattr_static(item, name, None)


def _flags(function: Any) -> int | None:
    """Returns the parameters from the code of an ordinary function or method."""
    if isinstance(function, MethodType):
        function = function.__func__
    # Others may be marked as what they are not.
    return function.__code__.co_flags if _is_ordinary(function) else None


def _is_ordinary(function: Any) -> bool:
    """Returns whether what it takes and is can be read from its code alone."""
    if type(function) is not FunctionType:
        return False
    return _SPECIAL.isdisjoint(vars(function))


_SPECIAL = frozenset(
    {
        "__wrapped__",
        "__signature__",
        "__partialmethod__",
        "_partialmethod",
        "__text_signature__",
        "_is_coroutine_mark",
        "_is_coroutine_marker",
    }
)
