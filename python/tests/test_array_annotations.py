"""Annotations of arrays: each dtype passes where its scalars are of the annotated class."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal, NewType, TypeVar

import jsonschema
import numpy
import pytest
from numpy.typing import NDArray
from support.signatures import taking

from snakepit_bridge.tools.annotations.check import Unsupported, json_schema
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode
from snakepit_bridge.values.nd_array import ITEM_SIZES

ARRAYS = {name: numpy.zeros((2, 3), dtype=name) for name in ITEM_SIZES}
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = [f"u{name}" for name in SIGNED]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
DATES = [name for name in ITEM_SIZES if name.startswith("datetime64")]
DURATIONS = [name for name in ITEM_SIZES if name.startswith("timedelta64")]

# Each class of scalars that numpy has above a dtype that crosses.
CLASSES: dict[Any, list[str]] = {
    numpy.generic: list(ITEM_SIZES),
    numpy.number: [*SIGNED, *UNSIGNED, *FLOATS, *COMPLEX],
    numpy.integer: [*SIGNED, *UNSIGNED],
    numpy.signedinteger: SIGNED,
    numpy.unsignedinteger: UNSIGNED,
    numpy.inexact: [*FLOATS, *COMPLEX],
    numpy.floating: FLOATS,
    numpy.complexfloating: COMPLEX,
    numpy.bool_: ["bool"],
    numpy.datetime64: DATES,
    numpy.timedelta64: DURATIONS,
    **{
        numpy.dtype(name).type: [name]
        for name in [*SIGNED, *UNSIGNED, *FLOATS, *COMPLEX]
    },
    # Classes of their own for dtypes that have another one, and what Python has for them.
    numpy.longlong: ["int64"],
    numpy.ulonglong: ["uint64"],
    bool: ["bool"],
    int: [*SIGNED, *UNSIGNED],
    float: FLOATS,
    complex: COMPLEX,
}
NONE = [
    numpy.str_,
    numpy.bytes_,
    numpy.object_,
    numpy.void,
    numpy.character,
    numpy.flexible,
]
NONE += [numpy.longdouble, numpy.clongdouble, numpy.record]


def passing(annotation: Any, arrays: dict[Any, Any]) -> list[Any]:
    """Returns which arrays pass, after they have crossed."""
    signature = taking(annotation)
    found = []
    for name, array in arrays.items():
        try:
            bind(signature, decode(encode([array])))
        except ArgumentsInvalid as error:
            assert error.path in ("$.x", "$[0]")
            assert "expected ndarray[" in str(error) or "of shape (" in str(error)
        else:
            found.append(name)
    return found


def classes_of(kind: Any) -> list[Any]:
    found = [kind]
    for below in kind.__subclasses__():
        found += classes_of(below)
    return found


def test_every_class_of_scalars_is_here() -> None:
    ours = {*CLASSES, *NONE}
    missing = [each for each in classes_of(numpy.generic) if each not in ours]
    assert [each for each in missing if each.__module__ == "numpy"] == []


@pytest.mark.parametrize("scalar", CLASSES)
def test_arrays_of_a_class_pass_and_no_others(scalar: Any) -> None:
    assert passing(NDArray[scalar], ARRAYS) == CLASSES[scalar]


@pytest.mark.parametrize("scalar", NONE)
def test_an_array_that_cannot_cross_is_refused_where_tools_are_loaded(
    scalar: Any,
) -> None:
    with pytest.raises(
        Unsupported, match=f"no array of {scalar.__name__.rstrip('_')} can"
    ):
        compile_annotation(NDArray[scalar])
    compile_annotation(numpy.ndarray)


Real = TypeVar("Real", numpy.float32, numpy.float64)
Bound = TypeVar("Bound", bound=numpy.floating)
Free = TypeVar("Free", bound=Any)
Shape = TypeVar("Shape", bound=tuple[int, int])
Rows = NewType("Rows", int)

OTHERS: list[tuple[Any, list[str]]] = [
    (NDArray[numpy.int8 | numpy.float64], ["int8", "float64"]),
    (NDArray[numpy.integer | numpy.floating], [*SIGNED, *UNSIGNED, *FLOATS]),
    (numpy.ndarray[Any, numpy.dtype[numpy.int8] | numpy.dtype[numpy.bool_]], ["bool", "int8"]),
    (NDArray[numpy.floating[Any]], FLOATS),
    (NDArray[Real], ["float32", "float64"]),  # type: ignore[valid-type]
    (NDArray[Bound], FLOATS),  # type: ignore[valid-type]
    (NDArray[Free], list(ITEM_SIZES)),  # type: ignore[valid-type]
    (NDArray[Any], list(ITEM_SIZES)),
    (numpy.ndarray[Any, Any], list(ITEM_SIZES)),
    (numpy.ndarray[Any, numpy.dtype], list(ITEM_SIZES)),
    (numpy.ndarray, list(ITEM_SIZES)),
    (Annotated[NDArray[numpy.int8], "comment"], ["int8"]),
    (NDArray[Annotated[numpy.int8, "comment"]], ["int8"]),
    (NDArray[numpy.int8] | NDArray[numpy.int16], ["int8", "int16"]),
    (NDArray[numpy.int8] | None, ["int8"]),
]  # fmt: skip
if hasattr(numpy, "dtypes"):
    OTHERS.append((numpy.ndarray[Any, numpy.dtypes.Float32DType], ["float32"]))


@pytest.mark.parametrize(("annotation", "names"), OTHERS)
def test_dtypes_pass_however_they_are_written(
    annotation: Any, names: list[str]
) -> None:
    assert passing(annotation, ARRAYS) == names


SHAPES = {
    shape: numpy.zeros(shape, "int8") for shape in [(), (2,), (2, 3), (3, 3), (1, 2, 3)]
}
ALL = list(SHAPES)
DTYPE = numpy.dtype[numpy.int8]


@pytest.mark.parametrize(
    ("shape", "passes"),
    [
        (Any, ALL),
        (tuple[Any, ...], ALL),
        (tuple[int, ...], ALL),
        (tuple, ALL),
        (tuple[()], [()]),
        (tuple[int], [(2,)]),
        (tuple[int, int], [(2, 3), (3, 3)]),
        (tuple[Rows, int], [(2, 3), (3, 3)]),
        (tuple[int, Literal[3]], [(2, 3), (3, 3)]),
        (tuple[Literal[2], int], [(2, 3)]),
        (tuple[Literal[1, 2], int], [(2, 3)]),
        (tuple[int] | tuple[int, int, int], [(2,), (1, 2, 3)]),
        (Shape, [(2, 3), (3, 3)]),
    ],
)
def test_the_shape_is_checked(shape: Any, passes: list[Any]) -> None:
    assert passing(numpy.ndarray[shape, DTYPE], SHAPES) == passes


def test_an_error_says_which_arrays_pass() -> None:
    signature = taking(
        numpy.ndarray[tuple[int, Literal[3]], numpy.dtype[numpy.integer]]
    )
    expected = r"expected ndarray\[integer\] of shape \(n, 3\), got "
    with pytest.raises(
        ArgumentsInvalid, match=expected + r"ndarray\[int8\] of shape \(2, 2\)"
    ):
        bind(signature, [numpy.zeros((2, 2), "int8")])
    with pytest.raises(ArgumentsInvalid, match=expected + r"ndarray\[float32\]"):
        bind(signature, [numpy.zeros((2, 3), "float32")])


@pytest.mark.parametrize("scalar", [numpy.int8, numpy.floating, numpy.generic])
def test_the_schema_has_the_dtypes_that_pass(scalar: Any) -> None:
    schema = json_schema(compile_annotation(NDArray[scalar]))
    validator = jsonschema.Draft202012Validator(schema)
    for name in [*SIGNED, *FLOATS]:
        written = {"$ndarray": {"dtype": name, "shape": [1], "data": [1]}}
        assert validator.is_valid(written) == (name in CLASSES[scalar])


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs type aliases")
def test_an_alias_of_a_dtype_is_what_it_stands_for() -> None:
    names: dict[str, Any] = {"numpy": numpy}
    source = "type Real = numpy.float32 | numpy.float64\ntype Flat = tuple[int]"
    exec(source, names)  # noqa: S102 - older Pythons cannot read it
    real: Any = names["Real"]
    flat: Any = names["Flat"]
    assert passing(NDArray[real], ARRAYS) == ["float32", "float64"]
    assert passing(numpy.ndarray[flat, DTYPE], SHAPES) == [(2,)]
