"""Tools as TypeScript: the module of their types."""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Generator,
    Iterator,
)
from datetime import date
from typing import Any, Literal

import pytest

from snakepit_bridge import NdArray, Result
from snakepit_bridge.tools.declaration import NO_INPUT, ToolMark
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.typescript.tools_module import tools_module

FLOAT = "number | bigint | Float"


def described(
    function: Callable[..., Any], named: str = "f", item: object = NO_INPUT
) -> Tool:
    return Tool(named, function, ToolMark(named, item))


def method(tool: Tool) -> str:
    """Returns what is written of one tool, without the indent."""
    text = tools_module([tool], "make")
    _, _, body = text.partition("export type Tools = {\n")
    lines = body.removesuffix("};\n").splitlines()
    return "\n".join(line.removeprefix("  ") for line in lines)


def nothing() -> None: ...
def required(a: str, b: bool) -> str: ...  # type: ignore[empty-body]
def optional(a: str = "", b: bool = True) -> None: ...
def only_named(a: str, *, b: bool) -> None: ...
def only_placed(a: str = "", /) -> None: ...
def placed(a: str = "", b: str = "", c: str = "", /) -> None: ...
def partly_placed(a: str, b: str = "", c: str = "", /, *, d: str) -> None: ...
def rest_of_rest(rest: str, *more: bool) -> None: ...
def rest(*rest: bool) -> None: ...
def others(**others: bool) -> None: ...
def all_kinds(a: str, *rest: bool, b: bool = True, **others: str) -> None: ...
def unannotated(a, b=1): ...  # type: ignore[no-untyped-def]
def unknown() -> Path: ...  # type: ignore[empty-body]


class Path:
    """Nothing that crosses."""


METHODS = [
    (nothing, "f(): null;"),
    (
        required,
        "f(args: { a: string; b: boolean } | readonly [a: string, b: boolean]): string;",
    ),
    (
        optional,
        """\
f(
  args?:
    | { a?: string | undefined; b?: boolean | undefined }
    | readonly [a?: string, b?: boolean],
): null;""",
    ),
    (only_named, "f(args: { a: string; b: boolean }): null;"),
    (
        only_placed,
        "f(args?: { a?: string | undefined } | readonly [a?: string]): null;",
    ),
    (
        placed,
        """\
f(
  args?:
    | { a?: string | undefined; b?: undefined; c?: undefined }
    | { a: string; b?: string | undefined; c?: undefined }
    | { a: string; b: string; c?: string | undefined }
    | readonly [a?: string, b?: string, c?: string],
): null;""",
    ),
    (
        partly_placed,
        """\
f(
  args:
    | { a: string; b?: string | undefined; c?: undefined; d: string }
    | { a: string; b: string; c?: string | undefined; d: string },
): null;""",
    ),
    (
        rest_of_rest,
        """\
f(
  args:
    | { rest: string }
    | readonly [rest: string, ..._1: Array<boolean>],
): null;""",
    ),
    (
        rest,
        "f(args?: Record<string, never> | readonly [...rest: Array<boolean>]): null;",
    ),
    (others, "f(args?: { [name: string]: boolean } | readonly []): null;"),
    (
        all_kinds,
        """\
/** Any other name takes `string`. */
f(
  args:
    | { a: string; b?: boolean | undefined; [name: string]: unknown }
    | readonly [a: string, ...rest: Array<boolean>],
): null;""",
    ),
    (
        unannotated,
        """\
f(
  args:
    | { a: unknown; b?: unknown }
    | readonly [a: unknown, b?: unknown],
): unknown;""",
    ),
    (unknown, "f(): unknown;"),
]


@pytest.mark.parametrize(("function", "written"), METHODS)
def test_a_tool_takes_its_arguments_by_name_and_by_position(
    function: Callable[..., Any], written: str
) -> None:
    assert method(described(function)) == written


def test_a_part_has_a_line_where_all_of_them_are_too_long_for_one() -> None:
    def function(first: list[float], second: list[float], third: str) -> None: ...

    assert method(described(function)).splitlines()[2:] == [
        "    | {",
        f"        first: ReadonlyArray<{FLOAT}>;",
        f"        second: ReadonlyArray<{FLOAT}>;",
        "        third: string;",
        "      }",
        "    | readonly [",
        f"        first: ReadonlyArray<{FLOAT}>,",
        f"        second: ReadonlyArray<{FLOAT}>,",
        "        third: string,",
        "      ],",
        "): null;",
    ]


def test_a_generator_is_a_stream_and_an_input_stream_is_told() -> None:
    def function() -> Iterator[str]:
        """Says it."""
        yield ""

    assert method(described(function, item=float)) == (
        "/**\n * Says it.\n *\n"
        f" * Reads an input stream of `{FLOAT}`.\n */\n"
        "f(): AsyncIterable<string>;"
    )


def test_what_a_generator_returns_is_the_result_of_its_stream() -> None:
    def totals() -> Generator[str, None, dict[str, int]]:
        yield ""
        return {}

    def nothing_more() -> Generator[str, None, None]:
        yield ""

    def anything() -> Generator[str, None, Any]:
        yield ""

    assert [method(described(f)) for f in (totals, nothing_more, anything)] == [
        "f(): AsyncIterable<string, Record<string, number | bigint>>;",
        "f(): AsyncIterable<string>;",
        "f(): AsyncIterable<string, unknown>;",
    ]


def test_what_an_asynchronous_generator_yields_as_its_result_is_that_of_its_stream() -> (
    None
):
    async def counted() -> AsyncIterator[str | Result[dict[str, int]]]:
        yield ""

    async def two_kinds() -> AsyncGenerator[
        str | int | Result[bool] | Result[str], None
    ]:
        yield ""

    async def only_a_result() -> AsyncIterator[Result[str]]:
        yield Result("")

    async def anything() -> AsyncIterator[str | Result]:  # type: ignore[type-arg]
        yield ""

    async def nothing_more() -> AsyncIterator[str | Result[None]]:
        yield ""

    tools = (counted, two_kinds, only_a_result, anything, nothing_more)
    assert [method(described(f)) for f in tools] == [
        "f(): AsyncIterable<string, Record<string, number | bigint>>;",
        "f(): AsyncIterable<string | number | bigint, boolean | string>;",
        "f(): AsyncIterable<unknown, string>;",
        "f(): AsyncIterable<string, unknown>;",
        "f(): AsyncIterable<string>;",
    ]


def test_a_module_imports_what_its_types_name_and_nothing_else() -> None:
    def named_alike(choice: Literal["Tuple", "NdArray"]) -> list[tuple[date, ...]]:
        return []

    assert tools_module([described(nothing, item=float)], "make f") == (
        "// Made by `make f`.\n\n"
        "/** What each tool takes, and what it returns if it keeps to its"
        " annotations. */\n"
        "export type Tools = {\n"
        f"  /** Reads an input stream of `{FLOAT}`. */\n"
        "  f(): null;\n"
        "};\n"
    )

    def anything(array: NdArray | Any) -> None: ...  # imports nothing

    tools = [described(named_alike), described(anything)]
    line = tools_module(tools, "make").splitlines()[2]
    package = "@snakepit/adapter-python"
    assert line == f'import type {{ PlainDate, Tuple }} from "{package}";'
