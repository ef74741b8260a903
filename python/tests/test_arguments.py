"""Arguments against annotations: what passes, what it becomes, what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timezone
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    Optional,
    TypedDict,
    TypeVar,
    Union,
)

import numpy
import numpy.typing
import pytest
from support.case_name import case_name
from support.signatures import taking

from snakepit_bridge import NdArray
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.signature import Signature, SignatureInvalid

UserId = NewType("UserId", int)
T = TypeVar("T", bound=str)


class Box(TypedDict, total=False):
    label: str
    corner: tuple[int, int]


class Page(Box):
    boxes: list[Box]


def pass_through(annotation: Any, value: Any) -> Any:
    return bind(taking(annotation), {"x": value})[1]["x"]


ARRAY = numpy.zeros(2, dtype="float32")


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, 5),
        (float, 1.5),
        (str, "a"),
        (bool, True),
        (bytes, b"a"),
        (None, None),
        (Any, object),
        (object, 1),
        (datetime, datetime(2024, 1, 1)),
        (datetime, datetime(2024, 1, 1, tzinfo=timezone.utc)),
        (date, date(2024, 1, 1)),
        (list, [1, "a"]),
        (list[int], [1, 2]),
        (dict, {1: 2}),
        (dict[str, int], {"a": 1}),
        (dict[int, list[str]], {1: ["a"]}),
        (Mapping[str, Any], {"a": 1}),
        (set[int], {1}),
        (tuple[int, str], (1, "a")),
        (tuple[int, ...], (1, 2, 3)),
        (tuple[()], ()),
        (Sequence[int], (1, 2)),
        (Iterable[int], [1, 2]),
        (Optional[int], None),  # noqa: UP045 - as users write it
        (Union[int, str], "a"),  # noqa: UP007 - as users write it
        (int | None, 3),
        (Literal["a", 1], 1),
        (Annotated[int, "a count"], 3),
        (UserId, 3),
        (T, "a"),
        (Box, {"label": "a"}),
        (Page, {"boxes": [{"corner": (1, 2)}]}),
        (numpy.ndarray, ARRAY),
        (numpy.typing.NDArray[numpy.float32], ARRAY),
        (numpy.typing.NDArray[numpy.floating], ARRAY),
        (list[Any], [1, "a"]),
    ],
    ids=case_name,
)
def test_a_value_of_the_annotated_type_passes_as_it_is(
    annotation: Any, value: Any
) -> None:
    assert (
        pass_through(annotation, value) is value
        or pass_through(annotation, value) == value
    )


@pytest.mark.parametrize(
    ("annotation", "value", "becomes"),
    [
        (float, 1, 1.0),
        (list[float], [1, 2.5], [1.0, 2.5]),
        (set[float], {1, 2.5}, {1.0, 2.5}),
        (dict[str, float], {"a": 1}, {"a": 1.0}),
        (float | None, 1, 1.0),
        (float | int, 1, 1),
        (tuple[int, float], [1, 2], (1, 2.0)),
        (tuple[str, ...], ["a"], ("a",)),
        (list[int], (1, 2), [1, 2]),
        (list[float], (1,), [1.0]),
        (list[list[int]], [(1,)], [[1]]),
        (frozenset[int], {1}, frozenset({1})),
        (set[float], {1}, {1.0}),
        (bytearray, b"a", bytearray(b"a")),
        (Box, {"corner": [1, 2]}, {"corner": (1, 2)}),
        (NdArray, ARRAY, NdArray("float32", [2], bytes(8))),
    ],
    ids=case_name,
)
def test_what_the_host_has_no_type_for_becomes_the_annotated_type(
    annotation: Any, value: Any, becomes: Any
) -> None:
    given = pass_through(annotation, value)
    assert given == becomes
    assert repr(given) == repr(becomes)


@pytest.mark.parametrize(
    ("annotation", "value", "becomes"),
    [
        (list[int] | tuple[int, ...], [1], [1]),
        (list[int] | tuple[int, ...], (1,), (1,)),
        (tuple[int, ...] | list[int], [1], [1]),
        (list[int] | tuple[int], (1,), (1,)),
        (list[float] | tuple[float, ...], (1,), (1.0,)),
        (tuple[float, ...] | list[float], [1], [1.0]),
        (list[list[int]] | list[tuple[int, ...]], [(1,)], [(1,)]),
        (dict[str, list[int]] | dict[str, tuple[int]], {"a": (1,)}, {"a": (1,)}),
        (dict[str, float] | Box, {"corner": (1, 2)}, {"corner": (1, 2)}),
        (dict[str, float] | dict[str, int], {"a": 1}, {"a": 1}),
        (frozenset[int] | set[int], {1}, {1}),
        (list[int] | int, (1,), [1]),
    ],
    ids=case_name,
)
def test_of_a_union_the_member_counts_that_takes_the_value_as_it_is(
    annotation: Any, value: Any, becomes: Any
) -> None:
    given = pass_through(annotation, value)
    assert repr(given) == repr(becomes)


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (int, "a", "$.x: expected int, got str"),
        (int, True, "$.x: expected int, got bool"),
        (int, 1.0, "$.x: expected int, got float"),
        (float, True, "$.x: expected float, got bool"),
        (float, 10**400, "$.x: expected float, got an int beyond its range"),
        (bool, 1, "$.x: expected bool, got int"),
        (str, b"a", "$.x: expected str, got bytes"),
        (None, 0, "$.x: expected None, got int"),
        (date, datetime(2024, 1, 1), "expected date, got datetime without a zone"),
        (list[float], [1.0, "a"], "$.x[1]: expected float, got str"),
        (
            list[float],
            [1.0, 10**400],
            "$.x[1]: expected float, got an int beyond its range",
        ),
        (list[float], {1.0}, "$.x: expected list[float], got set"),
        (set[list[int]], {(1,)}, "$.x[0]: expected list[int], got tuple"),
        (dict[list[int], int], {(1,): 1}, "$.x<key 0>: expected list[int], got tuple"),
        (dict[str, int], {"a b": "c"}, '$.x["a b"]: expected int, got str'),
        (dict[str, int], {1: 1}, "$.x<key 0>: expected str, got int"),
        (set[int], [1], "$.x: expected set[int], got list"),
        (tuple[()], (1,), "$.x: expected tuple[()], got tuple of 1"),
        (tuple[int, str], (1,), "$.x: expected tuple[int, str], got tuple of 1"),
        (tuple[int, str], (1, 2), "$.x[1]: expected str, got int"),
        (Literal["a", "b"], "c", "$.x: expected one of 'a', 'b', got 'c'"),
        (Literal[1], True, "$.x: expected one of 1, got True"),
        (int | str, [], "$.x: expected int | str, got list"),
        (list[int] | None, ["a"], "$.x[0]: expected int, got str"),
        (Box, {"lable": "a"}, "expected Box (keys: label, corner), got the key"),
        (Page, {"boxes": [{"label": 1}]}, "$.x.boxes[0].label: expected str, got int"),
        (Page, {}, "$.x.boxes: expected list[Box], got nothing"),
        (
            numpy.ndarray,
            [1],
            "$.x: expected ndarray, got list; in TypeScript, send an NdArray: NdArray.",
        ),
        (numpy.typing.NDArray[numpy.uint8], b"a", "got bytes; in TypeScript, send"),
        (
            numpy.typing.NDArray[numpy.int8],
            ARRAY,
            "expected ndarray[int8], got ndarray[float32]",
        ),
    ],
    ids=case_name,
)
def test_another_value_is_refused_with_path_and_both_types(
    annotation: Any, value: Any, message: str
) -> None:
    with pytest.raises(ArgumentsInvalid) as caught:
        pass_through(annotation, value)
    assert message in str(caught.value)


WRITTEN = {"dtype": "float32", "shape": [2], "data": [0, 1.5]}


@pytest.mark.parametrize(
    "data", [[0, 1.5], "AAAAAAAAwD8=", b"\0\0\0\0\0\0\xc0\x3f"], ids=case_name
)
def test_an_array_may_be_written_as_its_schema_says(data: Any) -> None:
    written = {"$ndarray": {**WRITTEN, "data": data}}
    taken = pass_through(numpy.typing.NDArray[numpy.float32] | None, written)
    assert (taken.dtype, taken.tolist()) == ("float32", [0, 1.5])
    parts = NdArray("float32", [2], b"\0\0\0\0\0\0\xc0\x3f")
    assert pass_through(NdArray, written) == parts
    # A dict is a better match.
    assert pass_through(dict | numpy.ndarray, written) is written


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({**WRITTEN, "data": [1]}, "$.x: $ndarray: "),
        ({**WRITTEN, "data": ["a", "b"]}, "$.x: $ndarray: data: "),
        ({**WRITTEN, "dtype": []}, "$.x: $ndarray: "),
        ({**WRITTEN, "shape": 2}, "$.x: $ndarray: "),
        ({"data": [1]}, "$.x: $ndarray: must be an object with dtype, shape and data"),
        ({**WRITTEN, "dtype": "int8", "data": [0, 1]}, "got ndarray[int8]"),
    ],
    ids=case_name,
)
def test_an_array_that_is_written_wrongly_is_refused(
    written: Any, message: str
) -> None:
    with pytest.raises(ArgumentsInvalid) as caught:
        pass_through(numpy.typing.NDArray[numpy.float32], {"$ndarray": written})
    assert message in str(caught.value)


class Plain:
    pass


def unresolvable(x: Nowhere) -> None: ...  # type: ignore[name-defined] # noqa: F821


@pytest.mark.parametrize(
    ("annotation", "remedy"),
    [
        (Plain, "docs/values.md"),
        (Callable[[], int], "docs/values.md"),
        (Literal[b"a"], "Literal[...] of plain values"),
        (list[Plain], "docs/values.md"),
    ],
)
def test_an_annotation_that_no_value_can_fit_is_refused(
    annotation: Any, remedy: str
) -> None:
    with pytest.raises(SignatureInvalid, match=r"parameter 'x'") as caught:
        taking(annotation)
    assert remedy in str(caught.value)


def test_an_annotation_that_cannot_be_resolved_is_refused() -> None:
    with pytest.raises(SignatureInvalid, match="import what they name at run time"):
        Signature(unresolvable)
