"""Typed dicts as TypeScript: each has one name, and is written once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any, TypedDict

from snakepit_bridge.tools.declaration import NO_INPUT, ToolMark
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.typescript.tools_module import tools_module

FLOAT = "number | bigint | Float"


class Word(TypedDict):
    """What is said.

    @tag
    """

    text: str


class Tree(TypedDict, total=False):
    word: Word
    left: Tree
    right: Tree


class Even(TypedDict, total=False):
    odd: Odd
    words: list[Word]


class Odd(TypedDict, total=False):
    even: Even
    size: float


class Inner(TypedDict):
    size: float


class Outer(TypedDict):
    inner: Inner


def word_of_another_module() -> Any:
    class Word(TypedDict):
        day: date

    return Word


def written(*functions: Callable[..., Any], item: object = NO_INPUT) -> str:
    mark = ToolMark(None, item)
    return tools_module([Tool(f.__name__, f, mark) for f in functions], "make")


def types(module: str) -> list[str]:
    """Returns the lines behind `Tools`."""
    return module.partition("\n};\n\n")[2].splitlines()


def test_a_typed_dict_that_is_the_same_both_ways_is_written_once() -> None:
    def f(a: Word, b: list[Word]) -> Word:
        return a

    def g(a: Word) -> None: ...

    module = written(f, g)
    assert "{ a: Word; b: readonly Word[] }" in module
    assert "): Word;" in module
    assert types(module) == [
        "/**",
        " * What is said.",
        " *",
        r" * \@tag",
        " */",
        "export type Word = { text: string };",
    ]


def test_one_that_is_different_to_take_and_to_answer_has_two_names() -> None:
    def f(tree: Tree) -> Tree:
        return tree

    lines = types(written(f))
    assert lines[:9] == [
        "export type TreeArgument = {",
        "  word?: Word | undefined;",
        "  left?: TreeArgument | undefined;",
        "  right?: TreeArgument | undefined;",
        "};",
        "",
        "export type TreeResult = { word?: Word; left?: TreeResult; right?: TreeResult };",
        "",
        "/**",
    ]
    assert lines[-1] == "export type Word = { text: string };"


def test_one_that_is_different_only_in_what_is_within_it_has_two_names_too() -> None:
    def f(outer: Outer) -> Outer:
        return outer

    assert types(written(f)) == [
        "export type OuterArgument = { inner: InnerArgument };",
        "",
        "export type OuterResult = { inner: InnerResult };",
        "",
        f"export type InnerArgument = {{ size: {FLOAT} }};",
        "",
        "export type InnerResult = { size: number };",
    ]


def test_a_name_that_is_taken_gets_a_number() -> None:
    class map(TypedDict):
        a: int

    class Tools(TypedDict):
        a: int

    def f(a: Any, b: Any, c: Any, d: Any) -> None: ...

    f.__annotations__ = {
        "a": Word,
        "b": word_of_another_module(),
        "c": map,
        "d": Tools,
    }
    module = written(f)
    assert "{ a: Word; b: Word2; c: Map2; d: Tools2 }" in module
    assert "export type Word2 = { day: PlainDate };" in module
    assert "import type { PlainDate } from" in module


def test_those_that_name_each_other_are_written_once_each() -> None:
    def f(even: Even) -> None: ...
    def g() -> Odd:
        return {}

    assert [li for li in types(written(f)) if li.startswith("export")] == [
        "export type Even = {",
        "export type Odd = {",
        "export type Word = { text: string };",
    ]
    lines = [li for li in types(written(f, g)) if li.startswith("export")]
    assert [li.split()[2] for li in lines] == [
        "EvenArgument",
        "EvenResult",
        "OddArgument",
        "OddResult",
        "Word",
    ]


def test_many_that_name_each_other_take_no_more_than_their_keys() -> None:
    count = 6
    # The type checker knows the call with a name that is written out only.
    make: Any = TypedDict
    kinds = [make(f"D{i}", {}, total=False) for i in range(count)]
    for kind in kinds:
        kind.__annotations__ = {f"d{i}": kinds[i] for i in range(count)}
        kind.__optional_keys__ = frozenset(kind.__annotations__)

    def f(a: Any) -> Any: ...

    f.__annotations__ = {"a": kinds[0], "return": kinds[0]}
    module = written(f)
    assert module.count("export type D") == 2 * count
    assert len(module) < 5_000


def test_an_input_item_is_exported_with_what_it_names() -> None:
    def f() -> None: ...

    module = written(f, item=Odd)
    assert "Reads an input stream of `Odd`." in module
    assert f"  size?: {FLOAT} | undefined;" in types(module)
    assert "import type { Float } from" in module


def test_one_that_stands_in_no_type_is_not_exported() -> None:
    def f(a: Any) -> None: ...

    f.__annotations__["a"] = Word | Any
    assert "Word" not in written(f)
