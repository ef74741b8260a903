"""Annotations as TypeScript: what is written for each, both ways, and texts around it."""

from __future__ import annotations

import sqlite3
import types
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from datetime import date, datetime
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NewType,
    Optional,
    TypedDict,
    TypeVar,
)

import numpy
import numpy.typing
import pytest

from snakepit_bridge import Handle, NdArray, Result, tool
from snakepit_bridge.tools.annotations.check import ObjectCheck
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.declaration import NO_INPUT, ToolMark
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.tools.toolbox import Toolbox
from snakepit_bridge.typescript.tools_module import tools_module
from snakepit_bridge.typescript.type_writer import (
    TypeWriter,
    comment,
    labels,
    literal,
    name,
    type_name,
)

Id = NewType("Id", int)
Text = TypeVar("Text", bound=str)
Anything = TypeVar("Anything")
FLOAT = "number | bigint | Float"
INT = "number | bigint"
ARRAYS = (
    "NdArray | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint16Array"
    " | Uint32Array | BigUint64Array | Float32Array | Float64Array"
)


class Base(TypedDict):
    label: str


class Box(Base, total=False):
    size: float
    inside: Box


Spaced = TypedDict("Spaced", {"a b": int, "new": str})

# The annotation, what TypeScript may send for it, what it gets.
WRITTEN = [
    (int, INT, INT),
    (Id, INT, INT),
    (Annotated[int, "positive"], INT, INT),
    (float, FLOAT, "number"),
    (int | float, FLOAT, INT),
    (str, "string", "string"),
    (Text, "string", "string"),
    (bool, "boolean", "boolean"),
    (None, "null", "null"),
    (str | None, "string | null", "string | null"),
    (Any, "unknown", "unknown"),
    (object, "unknown", "unknown"),
    (Anything, "unknown", "unknown"),
    (int | Any, "unknown", "unknown"),
    (bytes, "Uint8Array | ArrayBuffer", "Uint8Array"),
    (bytearray, "Uint8Array | ArrayBuffer", "Uint8Array"),
    (memoryview, "Uint8Array | ArrayBuffer", "Uint8Array"),
    (datetime, "Date | PlainDateTime", "Date | PlainDateTime"),
    (date, "PlainDate", "PlainDate"),
    (list, "readonly unknown[]", "unknown[]"),
    (list[str], "readonly string[]", "string[]"),
    (list[float], f"ReadonlyArray<{FLOAT}>", "number[]"),
    (
        list[list[str]],
        "ReadonlyArray<readonly string[]>",
        "Array<string[]>",
    ),
    # A text is a sequence of texts, too, and bytes are one of integers.
    (Sequence[str], "readonly string[]", "unknown"),
    (set[Sequence[str]], "ReadonlySet<Tuple<string>>", "Set<unknown>"),
    (set[list[str]], "ReadonlySet<never>", "Set<never>"),
    (Iterable[str], "readonly string[]", "unknown"),
    (Collection[str], "readonly string[]", "unknown"),
    (tuple, "readonly unknown[]", "Tuple<unknown>"),
    (tuple[float, ...], f"ReadonlyArray<{FLOAT}>", "Tuple<number>"),
    (tuple[()], "readonly []", "[]"),
    (tuple[int, str], f"readonly [{INT}, string]", f"[{INT}, string]"),
    (set[str], "ReadonlySet<string>", "Set<string>"),
    (frozenset[str], "ReadonlySet<string>", "Set<string>"),
    (
        set[tuple[bool, ...]],
        "ReadonlySet<Tuple<boolean>>",
        "Set<Tuple<boolean>>",
    ),
    (
        set[tuple[bool, tuple[str]]],
        "ReadonlySet<Tuple<boolean | Tuple<string>>>",
        "Set<Tuple<boolean | Tuple<string>>>",
    ),
    (set[tuple[()]], "ReadonlySet<Tuple<never>>", "Set<Tuple<never>>"),
    (
        dict[str, bool],
        "Record<string, boolean> | ReadonlyMap<string, boolean>",
        "Record<string, boolean>",
    ),
    (
        Mapping[bool, str],
        "Record<string, never> | ReadonlyMap<boolean, string>",
        "Record<string, never> | Map<boolean, string>",
    ),
    (
        dict[str | None, bool],
        "Record<string, boolean> | ReadonlyMap<string | null, boolean>",
        "Record<string, boolean> | Map<string | null, boolean>",
    ),
    (
        dict,
        "Record<string, unknown> | ReadonlyMap<unknown, unknown>",
        "Record<string, unknown> | Map<unknown, unknown>",
    ),
    (
        dict[Literal["a", "b"], bool],
        'Partial<Record<"a" | "b", boolean>> | ReadonlyMap<"a" | "b", boolean>',
        'Partial<Record<"a" | "b", boolean>>',
    ),
    (
        Literal["a", 1, -1, True, 9007199254740992],
        '"a" | 1 | -1 | true | 9007199254740992n',
        '"a" | 1 | -1 | true | 9007199254740992n',
    ),
    (Box, "Box", "Box"),
    (list[Box], "readonly Box[]", "Box[]"),
    (NdArray, ARRAYS, "NdArray"),
    (numpy.ndarray, ARRAYS, "NdArray"),
    (
        numpy.typing.NDArray[numpy.float32],
        'NdArray<"float32"> | Float32Array',
        'NdArray<"float32">',
    ),
    (
        numpy.typing.NDArray[numpy.int64],
        'NdArray<"int64"> | BigInt64Array',
        'NdArray<"int64">',
    ),
    (numpy.typing.NDArray[numpy.uint8], 'NdArray<"uint8">', 'NdArray<"uint8">'),
    (numpy.typing.NDArray[numpy.bool_], 'NdArray<"bool">', 'NdArray<"bool">'),
    (
        numpy.typing.NDArray[numpy.floating],
        'NdArray<"float16" | "float32" | "float64"> | Float32Array | Float64Array',
        'NdArray<"float16" | "float32" | "float64">',
    ),
    (numpy.typing.NDArray[numpy.generic], ARRAYS, "NdArray"),
    (numpy.typing.NDArray[numpy.datetime64], "NdArray", "NdArray"),
    (
        numpy.ndarray[tuple[int, int], numpy.dtype[numpy.int8 | numpy.int16]],
        'NdArray<"int8" | "int16">',
        'NdArray<"int8" | "int16">',
    ),
]


@pytest.mark.parametrize(("annotation", "sent", "answered"), WRITTEN)
def test_an_annotation_is_what_can_be_sent_and_what_can_come_back(
    annotation: Any, sent: str, answered: str
) -> None:
    check = compile_annotation(annotation)
    assert TypeWriter(sent=True).written(check) == sent
    assert TypeWriter(sent=False).written(check) == answered


def test_a_typed_dict_has_its_keys_and_is_named_where_it_is_within_itself() -> None:
    check = compile_annotation(Box)
    assert isinstance(check, ObjectCheck)
    assert TypeWriter(sent=True).fields(check) == [
        "label: string",
        f"size?: {FLOAT} | undefined",
        "inside?: Box | undefined",
    ]
    names: dict[type, str] = {Box: "BoxResult"}
    answered = TypeWriter(sent=False, names=names).fields(check)
    assert answered == ["label: string", "size?: number", "inside?: BoxResult"]
    odd = compile_annotation(Spaced)
    assert isinstance(odd, ObjectCheck)
    assert TypeWriter(sent=False).fields(odd) == [f'"a b": {INT}', '"new": string']


@pytest.mark.parametrize(
    ("annotation", "written", "imports"),
    [
        (date | Any, "unknown", set()),
        (list[date | Any] | datetime, "readonly unknown[]", {"PlainDateTime"}),
        (set[tuple[date, Any]], "ReadonlySet<Tuple<unknown>>", {"Tuple"}),
        (dict[date | Any, NdArray | Any], "Record<string, unknown>", set()),
    ],
)
def test_what_stands_in_no_type_is_not_imported(
    annotation: Any, written: str, imports: set[str]
) -> None:
    writer = TypeWriter(sent=True)
    assert writer.members(compile_annotation(annotation))[0] == written
    assert writer.imports == imports
    assert writer.written(compile_annotation(Box | Any)) == "unknown"
    assert not writer.objects


def test_integers_that_are_said_to_be_safe_come_back_as_numbers() -> None:
    check = compile_annotation(dict[int, list[int]])
    answered = TypeWriter(sent=False, safe_integers=True).written(check)
    assert answered == "Record<string, never> | Map<number, number[]>"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a_1", "a_1"),
        ("delete", "delete"),
        ("new", '"new"'),
        ("", '""'),
        ("images.resize", '"images.resize"'),
        ("größe", '"größe"'),
        ('a"\\\n', r'"a\"\\\n"'),
        ("\u2028", r'"\u2028"'),
        ("\ud800", r'"\ud800"'),
        ("a\n", r'"a\n"'),
    ],
)
def test_a_name_that_is_no_identifier_is_quoted(text: str, written: str) -> None:
    assert name(text) == written


def test_a_label_that_is_no_identifier_is_replaced_by_one_that_is_no_others() -> None:
    assert labels(["new", "größe"]) == ["new_", "_1"]
    assert labels(["this", "this_"]) == ["_this_", "this_"]
    assert labels(["ä", "_0", "__0", "ö", "_3"]) == ["___0", "_0", "__0", "__3", "_3"]
    assert labels(["rest", "rest"]) == ["rest", "_1"]


def test_an_integer_beyond_the_safe_ones_is_a_bigint() -> None:
    assert [literal(2**53 - 1), literal(-(2**53))] == [str(2**53 - 1), f"-{2**53}n"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("One.", ["/** One. */"]),
        ("*/ a */", [r"/** *\/ a *\/ */"]),
        ("/", ["/** / */"]),
        ("@ts-ignore", [r"/** \@ts-ignore */"]),
        ("A.\n\n  @b\n/", ["/**", " * A.", " *", r" *   \@b", " * /", " */"]),
        ("A.\r\u2028B.", ["/**", " * A.", " *", " * B.", " */"]),
        ("\ud800", ["/** ? */"]),
    ],
)
def test_a_docstring_cannot_leave_its_comment(text: str, lines: list[str]) -> None:
    assert comment(text) == lines


# ----------- Typed dicts as TypeScript: each has one name, and is written once


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


def exported(module: str) -> list[str]:
    """Returns the lines behind `Tools`."""
    return module.partition("\n};\n\n")[2].splitlines()


def test_a_typed_dict_that_is_the_same_both_ways_is_written_once() -> None:
    def f(a: Word, b: list[Word]) -> Word:
        return a

    def g(a: Word) -> None: ...

    module = written(f, g)
    assert "{ a: Word; b: readonly Word[] }" in module
    assert "): Word;" in module
    assert exported(module) == [
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

    lines = exported(written(f))
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

    assert exported(written(f)) == [
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

    assert [li for li in exported(written(f)) if li.startswith("export")] == [
        "export type Even = {",
        "export type Odd = {",
        "export type Word = { text: string };",
    ]
    lines = [li for li in exported(written(f, g)) if li.startswith("export")]
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
    assert f"  size?: {FLOAT} | undefined;" in exported(module)
    assert "import type { Float } from" in module


def test_one_that_stands_in_no_type_is_not_exported() -> None:
    def f(a: Any) -> None: ...

    f.__annotations__["a"] = Word | Any
    assert "Word" not in written(f)


# ------------------------------ Tools as TypeScript: the module of their types


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


# ----------- The types that TypeScript has for objects that stay in the worker


def toolbox(*tools: Any) -> Toolbox:
    module = types.ModuleType("handles_of_a_test")
    for i, each in enumerate(tools):
        setattr(module, f"tool_{i}", each)
    return Toolbox(module)


@tool
def connect(path: str) -> Handle[sqlite3.Connection]:
    return sqlite3.connect(path)


@tool
def changes(of: Handle[sqlite3.Connection]) -> int:
    return of.total_changes


@tool
def rows() -> Iterator[Handle[sqlite3.Row]]:
    yield from ()


def test_the_types_for_typescript_have_handles() -> None:
    text = tools_module(toolbox(connect, changes, rows).tools.values(), "types")
    assert 'import type { Handle } from "@snakepit/adapter-python";' in text
    assert "changes(args: { of: Handle } | readonly [of: Handle]): number" in text
    assert "): AsyncIterable<Handle>;" in " ".join(text.split())


class Book:
    def __init__(self, title: str) -> None:
        self.title = title


@dataclass
class Label:
    text: str
    book: Handle[Book] | None = None


class Shelf:
    """Where books are."""

    label: Label
    made: ClassVar[int] = 0
    _secret: str
    colors = ("red",)

    def add(self, title: str, *more: str, copies: int = 1) -> None:
        """Adds books."""

    def at(self, place: int = 0) -> Book | None:
        return None

    def books(self) -> Iterator[Book]:
        yield Book("a")

    def copy(self) -> Shelf:
        return self

    def database(self) -> sqlite3.Connection:
        return sqlite3.connect(":memory:")

    async def later(self) -> int:
        return 1

    def untyped(self, what):  # type: ignore[no-untyped-def]
        return what

    @property
    def size(self) -> int:
        return 1

    @staticmethod
    def named(name: str) -> Label:
        return Label(name)

    def _hidden(self) -> None: ...


class Opened(sqlite3.Connection):
    def public(self) -> int:
        return 1


SHELF = """
/** Where books are. */
export interface Shelf {
  readonly label: Label;
  readonly made: number;
  readonly colors: unknown;
  /** Adds books. */
  add(title: string, ...rest: Array<string>): null;
  at(place?: number | bigint): Handle<Book> | null;
  books(): Handle<Iterable<Handle<Book>>>;
  copy(): Handle<Shelf>;
  database(): Handle;
  later(): Handle;
  untyped(what: unknown): unknown;
  readonly size: number;
  named(name: string): Label;
}

export interface Book {
  readonly title: unknown;
}

export type Label = { text: string; book: Handle<Book> | null };
"""


def test_a_class_of_ones_own_is_an_interface_in_typescript() -> None:
    @tool
    def shelf(connection: Handle[Opened]) -> Handle[Shelf]:
        return Shelf()

    text = tools_module(toolbox(shelf).tools.values(), "types", safe_integers=True)
    assert "{ connection: Handle }" in text
    assert text.endswith(f"}};\n{SHELF}")


def test_the_type_of_a_handle_has_a_name_of_its_own() -> None:
    @tool
    def relabel(label: Label) -> Handle[Label]:
        return label

    text = tools_module(toolbox(relabel).tools.values(), "types")
    assert "label: Label }" in text
    assert "Handle<Label2>;" in text
    assert "export interface Label2 {" in text


# ------------------------------------------------ The names of generated types

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
        ("new", "New"),
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
