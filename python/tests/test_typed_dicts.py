"""Typed dicts that are within themselves or each other, as annotations of arguments."""

from __future__ import annotations

from typing import TypedDict

import pytest

from snakepit_bridge.tools.annotations.check import Mismatch
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.annotations.typed_dict import TypedDictCheck


class A(TypedDict, total=False):
    number: int
    a: A
    b: B
    c: C
    d: D


class B(TypedDict, total=False):
    a: A
    b: B
    c: C
    d: D


class C(TypedDict, total=False):
    number: int
    a: A
    b: B
    d: D


class D(TypedDict, total=False):
    a: A


def test_one_within_itself_is_looked_at_until_there() -> None:
    check = compile_annotation(A)
    value = {"number": 1, "a": {"number": "b"}, "b": {"c": {"number": 2}}}
    assert check.check(value, None) is value
    with pytest.raises(Mismatch, match="expected int, got str"):
        check.check({"b": {"c": {"number": "2"}}}, None)
    with pytest.raises(Mismatch, match=r"expected dict\[str, Any\], got list"):
        check.check({"b": {"c": {"b": []}}}, None)


def test_one_that_is_reached_in_several_ways_is_made_once() -> None:
    check = compile_annotation(A)

    def within(*keys: str) -> TypedDictCheck:
        found = check
        for key in keys:
            assert isinstance(found, TypedDictCheck)
            found = found.items[key]
        assert isinstance(found, TypedDictCheck)
        return found

    # Around both are the same three: how many ways lead there grows fast.
    assert within("b", "c", "d") is within("c", "b", "d")
    assert within("b", "d") is not within("b", "c", "d")
