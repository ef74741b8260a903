"""Annotations of arrays: each dtype passes where its scalars are of the annotated class."""

from __future__ import annotations

import json
import sys
from datetime import date, datetime, timedelta, timezone
from types import ModuleType
from typing import Annotated, Any, Literal, NewType, TypeVar

import jsonschema
import numpy
import pytest
from numpy.typing import NDArray
from support.case_name import case_name
from support.signatures import taking

from snakepit_bridge import ValueNotTransferable
from snakepit_bridge.tools.annotations.check import Mismatch, Unsupported, json_schema
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.annotations.library_types import library_check
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.typescript.type_writer import TypeWriter
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


# -------- Annotations of tensors: which classes they are, and what is made of the array that arrives


class Abstract:
    """Like `jax.Array`, which has no method of its subclasses."""


class Shared(Abstract):
    """Like an array of jax, or a tensor of torch."""

    def __init__(self, array: Any) -> None:
        if array.dtype == "float16":
            raise TypeError("no float16")
        self.array = array

    def __dlpack__(self) -> None: ...


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Returns a module in the place of jax."""
    jax, jax_numpy = ModuleType("jax"), ModuleType("jax.numpy")
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setitem(sys.modules, "jax.numpy", jax_numpy)
    monkeypatch.setattr(Abstract, "__module__", "jax")
    monkeypatch.setattr(Shared, "__module__", "jax")
    vars(jax)["Array"] = Abstract
    vars(jax_numpy)["from_dlpack"] = Shared
    return jax


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("kind", [Abstract, Shared])
def test_an_array_becomes_a_tensor_over_the_same_memory(kind: type) -> None:
    check = library_check(kind)
    assert check is not None
    array = numpy.zeros(3, "float32")
    tensor = check.check(array, None)
    assert type(tensor) is Shared
    assert tensor.array is array
    assert check.check(tensor, None) is tensor


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("value", [[1.0], numpy.zeros(1, "float16")])
def test_what_the_library_does_not_take_is_refused(value: Any) -> None:
    check = library_check(Abstract)
    assert check is not None
    with pytest.raises(Mismatch):
        check.check(value, None)


def test_a_class_of_a_library_that_takes_none_is_no_tensor() -> None:
    assert library_check(Shared) is None
    assert library_check(Abstract) is None


# ----------------------------------- Scalars of numpy: what crosses, both ways

BOTH_WAYS: list[Any] = [
    (numpy.bool_, True, numpy.bool_(True), "boolean"),
    (numpy.int8, -128, numpy.int8(-128), "number | bigint"),
    (numpy.uint64, 2**64 - 1, numpy.uint64(2**64 - 1), "number | bigint"),
    (numpy.integer, 5, numpy.int64(5), "number | bigint"),
    (numpy.float32, 0.5, numpy.float32(0.5), "number"),
    (numpy.float32, float("inf"), numpy.float32("inf"), "number"),
    (numpy.float64, 0.1, numpy.float64(0.1), "number"),
    (numpy.floating[Any], 0.1, numpy.float64(0.1), "number"),
    (numpy.complex64, {"re": 1.0, "im": 2.0}, numpy.complex64(1 + 2j), "{ re: number; im: number }"),
    (numpy.str_, "a", numpy.str_("a"), "string"),
    (numpy.bytes_, b"a", numpy.bytes_(b"a"), "Uint8Array"),
    (numpy.datetime64, date(2024, 2, 29), numpy.datetime64("2024-02-29"),
     "PlainDate | Date | PlainDateTime"),
    (numpy.datetime64, datetime(2024, 2, 29, 12), numpy.datetime64("2024-02-29T12:00:00.000000"),
     "PlainDate | Date | PlainDateTime"),
    (numpy.timedelta64, "PT1.5S", numpy.timedelta64(1_500_000, "us"), "string"),
    (list[numpy.int16], [1, 2], [numpy.int16(1), numpy.int16(2)], "Array<number | bigint>"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("annotation", "sent", "value", "written"), BOTH_WAYS, ids=case_name
)
def test_a_scalar_is_sent_as_its_equal_and_its_annotation_makes_it_again(
    annotation: Any, sent: Any, value: Any, written: str
) -> None:
    received = decode(encode([value]))[0]
    assert (received, type(received)) == (sent, type(sent))
    _, keywords = bind(taking(annotation), {"x": received})
    assert (keywords["x"], type(keywords["x"])) == (value, type(value))
    answered = compile_annotation(annotation, answered=True)
    assert TypeWriter(sent=False).written(answered) == written
    schema = json_schema(compile_annotation(annotation))
    if written != "Uint8Array" and sent != float("inf"):
        json_text = json.dumps(sent, default=date.isoformat)
        jsonschema.validate(json.loads(json_text), schema)


@pytest.mark.parametrize(
    ("annotation", "sent", "value"),
    [
        (numpy.float64, 1, numpy.float64(1)),
        (
            numpy.datetime64,
            datetime(2024, 2, 29, 12, 0, 0, 5),
            numpy.datetime64("2024-02-29T12:00:00.000005"),
        ),
        (
            numpy.datetime64,
            datetime(2024, 2, 29, 12, tzinfo=timezone(timedelta(hours=1))),
            numpy.datetime64("2024-02-29T11:00:00"),
        ),
    ],
    ids=case_name,
)
def test_a_scalar_is_made_of_what_has_its_kind(
    annotation: Any, sent: Any, value: Any
) -> None:
    _, keywords = bind(taking(annotation), {"x": decode(encode(sent))})
    assert (keywords["x"], type(keywords["x"])) == (value, type(value))


@pytest.mark.parametrize(
    ("annotation", "sent", "problem"),
    [
        (numpy.int8, 128, "$.x: not a valid int8: "),
        (numpy.uint8, -1, "$.x: not a valid uint8: "),
        (numpy.float32, 1e300, "$.x: not a valid float32: 1e+300 is outside its range"),
        (
            numpy.timedelta64,
            "P106751992D",
            "$.x: not a valid timedelta64: 106751992 days, 0:00:00 is outside",
        ),
        (numpy.int64, 1.5, "$.x: expected int, got float"),
        (numpy.bool_, 1, "$.x: expected bool, got int"),
        (numpy.datetime64, 2024, "$.x: expected date | datetime, got int"),
    ],
    ids=case_name,
)
def test_what_is_no_such_scalar_is_refused(
    annotation: Any, sent: Any, problem: str
) -> None:
    with pytest.raises(ArgumentsInvalid) as caught:
        bind(taking(annotation), {"x": sent})
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    "value",
    [
        numpy.timedelta64(10**12, "D"),
        numpy.timedelta64(10**17, "ms"),
        numpy.datetime64(10**15, "s"),
        numpy.datetime64(10**9, "D"),
    ],
    ids=case_name,
)
def test_a_time_outside_of_what_python_has_is_not_sent(value: object) -> None:
    with pytest.raises(ValueNotTransferable, match="send it as a numpy array"):
        encode(value)


def test_parts_of_a_microsecond_are_not_sent() -> None:
    span = numpy.timedelta64(1_500, "ns")
    assert decode(encode(span)) == "PT0.000001S"
