"""The names of generated types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Optional, TypeVar

import pytest

from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.typescript.type_writer import TypeWriter, type_name

T = TypeVar("T")
U = TypeVar("U")


@dataclass
class Page(Generic[T]):
    items: list[T]


@dataclass
class Pair(Generic[T, U]):
    one: T
    other: U


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (Page[int], "PageOfInt"),
        (Page[list[str]], "PageOfListOfStr"),
        (Page[Page[int]], "PageOfPageOfInt"),
        (Pair[int, str], "PairOfIntAndStr"),
        (Page[int | None], "PageOfIntOrNone"),
        (Page[Optional[int]], "PageOfIntOrNone"),  # noqa: UP045
        (Page[dict[str, Page[int]]], "PageOfDictOfStrAndPageOfInt"),
    ],
)
def test_the_parameters_of_a_class_are_part_of_its_name(
    annotation: Any, expected: str
) -> None:
    assert TypeWriter(sent=True).written(compile_annotation(annotation)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Größe", "Größe"),
        ("größe", "Größe"),
        ("straße", "Straße"),
        ("名前", "名前"),
        ("Point2", "Point2"),
        ("My_Class", "My_Class"),
        ("a-b", "A_b"),
        ("2d", "_2d"),
        ("a\u200db", "A_b"),
        ("\U0001f40d", "_"),
        ("", "_"),
    ],
)
def test_a_name_keeps_the_letters_that_typescript_takes(
    text: str, expected: str
) -> None:
    assert type_name(text) == expected
