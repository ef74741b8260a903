"""Annotations as TypeScript: what is written for each, both ways, and texts around it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Annotated, Any, Literal, NewType, TypedDict, TypeVar

import numpy
import numpy.typing
import pytest

from snakepit_bridge import NdArray
from snakepit_bridge.tools.annotations.check import ObjectCheck
from snakepit_bridge.tools.annotations.compile import compile_annotation
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


Odd = TypedDict("Odd", {"a b": int, "new": str})

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
    odd = compile_annotation(Odd)
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


@pytest.mark.parametrize(
    ("text", "written"),
    [("Box", "Box"), ("new", "New"), ("1", "_1"), ("", "_")],
)
def test_the_name_of_a_type_is_an_identifier_and_no_keyword(
    text: str, written: str
) -> None:
    assert type_name(text) == written


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
