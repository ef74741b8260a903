"""Which arrays an annotation of numpy's allows: dtypes, and how many dimensions."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from typing import Any

from snakepit_bridge.tools.annotations.check import Unsupported
from snakepit_bridge.tools.annotations.leaves import ArrayCheck
from snakepit_bridge.values.nd_array import ITEM_SIZES
from snakepit_bridge.values.numpy_values import imported_numpy

# What is meant by `NDArray[float]`, which type checkers refuse.
_OF_PYTHON = {
    bool: "bool_",
    int: "integer",
    float: "floating",
    complex: "complexfloating",
}
_UNPACKED = ("Unpack", "TypeVarTuple")


def array_check(arguments: tuple[Any, ...]) -> ArrayCheck:
    """Returns the check of `ndarray[shape, dtype[X]]`.

    Raises:
        Unsupported: no array that can cross has such elements, or it says nothing.
    """
    shape, dtype = (*arguments, Any, Any)[:2]
    dtypes: list[str] = []
    words: list[str] = []
    scalars = list(_scalars(dtype))
    if Any in scalars:
        return ArrayCheck(None, _shapes(shape))
    for scalar in scalars:
        parts = _names_of(scalar)
        if not parts:
            raise Unsupported(
                f"no array of {_word(scalar)} can cross; it can be of "
                f"{', '.join(ITEM_SIZES)}"
            )
        dtypes += [name for name in parts if name not in dtypes]
        words.append(_word(scalar))
    word = " | ".join(dict.fromkeys(words))
    every = len(dtypes) == len(ITEM_SIZES)
    return ArrayCheck(None if every else dtypes, _shapes(shape), word)


def _scalars(annotation: Any) -> Iterator[Any]:
    """Yields the classes of scalars in `dtype[X]`, a union of such, or a class of dtypes."""
    numpy = imported_numpy()
    for member in _members(annotation):
        origin = typing.get_origin(member) or member
        if not (isinstance(origin, type) and issubclass(origin, numpy.dtype)):
            # `Any`, or what says nothing about the dtype.
            yield Any
        elif arguments := typing.get_args(member):
            for part in _members(arguments[0]):
                yield part if isinstance(part, type) else Any
        elif origin is numpy.dtype:
            yield Any
        else:
            # One of `numpy.dtypes`.
            yield getattr(origin, "type", Any)


def _members(annotation: Any) -> Iterator[Any]:
    """Yields the members of a union, and what a type variable or an alias stands for."""
    if type(annotation).__name__ == "TypeAliasType":
        yield from _members(annotation.__value__)
    elif isinstance(annotation, typing.NewType):
        yield from _members(annotation.__supertype__)
    elif isinstance(annotation, typing.TypeVar):
        bound = annotation.__bound__
        meant = annotation.__constraints__ or (Any if bound is None else bound,)
        for each in meant:
            yield from _members(each)
    elif typing.get_origin(annotation) in (typing.Union, types.UnionType):
        for each in typing.get_args(annotation):
            yield from _members(each)
    elif hasattr(annotation, "__metadata__"):
        yield from _members(typing.get_args(annotation)[0])
    else:
        # Of `numpy.floating[Any]`, the class.
        origin = typing.get_origin(annotation)
        is_scalar = isinstance(origin, type) and issubclass(
            origin, imported_numpy().generic
        )
        yield origin if is_scalar else annotation


def _names_of(scalar: type) -> list[str]:
    """Returns the dtypes whose scalars are of a class, or of one below it."""
    numpy = imported_numpy()
    scalar = getattr(numpy, _OF_PYTHON.get(scalar, ""), scalar)
    names = [
        name
        for name in ITEM_SIZES
        if issubclass(kind := numpy.dtype(name).type, scalar)
        # numpy has durations below the integers, but they are none.
        and (
            kind is not numpy.timedelta64
            or scalar in (numpy.timedelta64, numpy.generic)
        )
    ]
    if not names and scalar in numpy.sctypeDict.values():
        # A class of its own for a dtype that has another one, such as `longlong`.
        name = numpy.dtype(scalar).name
        names = [name] if name in ITEM_SIZES else []
    return names


def _word(scalar: Any) -> str:
    name: str = scalar.__name__.removesuffix("_")
    return name


def _shapes(annotation: Any) -> list[tuple[int | None, ...]] | None:
    """Returns the shapes that pass, with None where any extent does; None for all."""
    shapes: list[tuple[int | None, ...]] = []
    for shape in _members(annotation):
        extents = typing.get_args(shape)
        origin = typing.get_origin(shape) or shape
        is_tuple = isinstance(origin, type) and issubclass(origin, tuple)
        # `tuple[()]` has no arguments, but a list of them; in Python 3.10, one.
        if not is_tuple or not hasattr(shape, "__args__") or Ellipsis in extents:
            return None
        if any(_is_unpacked(extent) for extent in extents):
            return None
        shapes += _products(extents if extents != ((),) else ())
    return shapes


def _is_unpacked(extent: Any) -> bool:
    origin = typing.get_origin(extent)
    names = (getattr(origin, "_name", None), type(extent).__name__)
    return bool(getattr(extent, "__unpacked__", False)) or any(
        name in _UNPACKED for name in names
    )


def _products(extents: tuple[Any, ...]) -> list[tuple[int | None, ...]]:
    """Returns the shapes of a tuple, of which each extent may be one of several."""
    shapes: list[tuple[int | None, ...]] = [()]
    for extent in extents:
        choices: list[int | None] = [
            each if type(each) is int else None
            for member in _members(extent)
            for each in (
                typing.get_args(member)
                if typing.get_origin(member) is typing.Literal
                else (None,)
            )
        ]
        shapes = [(*shape, choice) for shape in shapes for choice in choices]
    return shapes
