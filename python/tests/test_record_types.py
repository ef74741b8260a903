"""Dataclasses, named tuples, attrs and structs of msgspec: objects on the other side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any

import annotated_types as at
import jsonschema
import pytest
from support.case_name import case_name
from support.records import (
    Account,
    Chain,
    Circle,
    Colour,
    Growing,
    Job,
    Kept,
    KeptPoint,
    Line,
    Page,
    Pages,
    Point,
    Points,
    Size,
    Square,
    Tree,
    Untyped,
)
from support.signatures import taking
from typing_extensions import Unpack

from snakepit_bridge import ValueNotTransferable
from snakepit_bridge.tools.annotations.check import (
    ObjectCheck,
    Unsupported,
    json_schema,
)
from snakepit_bridge.tools.annotations.compile import compile_annotation
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.signature import Signature, SignatureInvalid
from snakepit_bridge.typescript.type_writer import TypeWriter
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

# The annotation, what is sent for a value, and the value.
BOTH_WAYS: list[Any] = [
    (Point, {"x": 1.5, "y": 0.0, "colour": "red"}, Point(1.5, 0.0, Colour.RED)),
    (
        Line,
        {
            "ends": ({"x": 1.0, "y": 0.0, "colour": None},) * 2,
            "tags": ["a"],
        },
        Line((Point(1.0), Point(1.0)), ["a"]),
    ),
    (
        Tree,
        {"name": "a", "children": [{"name": "b", "children": []}]},
        Tree("a", [Tree("b")]),
    ),
    (
        Page[Point],
        {"items": [{"x": 1.0, "y": 2.0, "colour": None}], "following": None},
        Page([Point(1.0, 2.0)]),
    ),
    (Page[int], {"items": [1], "following": 2}, Page([1], 2)),
    (
        Points,
        {
            "items": [{"x": 1.0, "y": 2.0, "colour": None}],
            "following": None,
            "name": "",
        },
        Points([Point(1.0, 2.0)]),
    ),
    (
        Pages[Decimal],
        {"items": [["1"]], "following": None, "first": "2"},
        Pages([[Decimal(1)]], None, Decimal(2)),
    ),
    (
        Kept[Colour],
        {"value": "red", "past": ["red"]},
        {"value": Colour.RED, "past": [Colour.RED]},
    ),
    (
        KeptPoint,
        {"value": {"x": 1.0, "y": 2.0, "colour": None}, "note": "a"},
        {"value": Point(1.0, 2.0), "note": "a"},
    ),
    (
        Chain,
        {"value": 1, "rest": {"value": 2, "rest": None}},
        Chain(1, Chain(2)),
    ),
    (Size, {"width": 2, "height": 3}, Size(2, 3)),
    (Untyped, {"left": 1, "right": "a"}, Untyped(1, "a")),
    (
        Job,
        {"name": "a", "wait": "PT1S", "secret": 9, "priority": 2},
        Job("a", timedelta(seconds=1), 9, 2),
    ),
    (
        Circle | Square,
        {"type": "Circle", "outerRadius": 1.5},
        Circle(1.5),
    ),
    (Circle | Square, {"type": "Square", "side": 1.5}, Square(1.5)),
    (list[Point], [{"x": 1.0, "y": 2.0, "colour": None}], [Point(1.0, 2.0)]),
    (
        dict[str, Size] | None,
        {"a": {"width": 2, "height": 3}},
        {"a": Size(2, 3)},
    ),
]


@pytest.mark.parametrize(("annotation", "sent", "value"), BOTH_WAYS, ids=case_name)
def test_a_record_is_sent_as_an_object_and_its_annotation_makes_it_again(
    annotation: Any, sent: Any, value: Any
) -> None:
    received = decode(encode([value]))[0]
    assert received == sent
    _, keywords = bind(taking(annotation), {"x": received})
    assert keywords["x"] == value
    assert type(keywords["x"]) is type(value)


@pytest.mark.parametrize("row", BOTH_WAYS, ids=case_name)
def test_the_schemas_take_what_crosses(row: Any) -> None:
    for answered in (False, True):
        schema = json_schema(compile_annotation(row[0], answered=answered))
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(json.loads(json.dumps(row[1])), schema)


@pytest.mark.parametrize(
    ("annotation", "sent", "value"),
    [
        (Point, {"x": 1}, Point(1.0)),
        (Line, {"ends": [{"x": 1}, {"x": 2}]}, Line((Point(1.0), Point(2.0)))),
        (Size, {"width": 1}, Size(1)),
        (Job, {"name": "a", "priority": "5"}, Job("a", priority=5)),
        (Circle, {"type": "Circle", "outerRadius": 1, "label": "a"}, Circle(1.0, "a")),
        (Annotated[Point, at.Predicate(lambda p: p.x > 0)], {"x": 1}, Point(1.0)),
    ],
    ids=case_name,
)
def test_what_has_a_default_need_not_be_sent(
    annotation: Any, sent: Any, value: Any
) -> None:
    _, keywords = bind(taking(annotation), {"x": sent})
    assert keywords["x"] == value


def test_fields_that_only_one_direction_has() -> None:
    account = bind(taking(Account), {"x": {"owner": "a", "opening": "5"}})[1]["x"]
    assert decode(encode(account)) == {"owner": "a", "balance": "5"}
    del account.balance
    assert decode(encode(account)) == {"owner": "a"}


@pytest.mark.parametrize(
    ("annotation", "sent", "problem"),
    [
        (Point, [1.5], "$.x[0]: expected Point, got list"),
        (Point, {}, "$.x[0].x: expected float, got nothing"),
        (Point, {"x": "1"}, "$.x[0].x: expected float, got str"),
        (Point, {"x": 1, "colour": "blue"}, "$.x[0].colour: expected Colour | None, got 'blue'"),
        (Point, {"x": 1, "z": 2}, "$.x[0]: expected Point (keys: x, y, colour), got the key 'z'"),
        (Line, {"ends": [{"x": 1}, {}]}, "$.x[0].ends[1].x: expected float, got nothing"),
        (Account, {"owner": "", "opening": "1"}, "$.x[0].owner: expected str (length >= 1)"),
        (
            Account,
            {"owner": "a", "opening": "-1"},
            "$.x[0]: not a valid Account: an account begins with nothing or more",
        ),
        (Account, {"owner": "a", "opening": "1", "balance": "1"}, "$.x[0]: expected Account (keys: owner, opening)"),
        (Tree, {"name": "a", "children": [{"name": 1}]}, "$.x[0].children[0].name: expected str"),
        (Page[int], {"items": ["a"]}, "$.x[0].items[0]: expected int, got str"),
        (Points, {"items": [5]}, "$.x[0].items[0]: expected Point, got int"),
        (Pages[int], {"items": [5]}, "$.x[0].items[0]: expected list[int], got int"),
        (Pages[int], {"items": [], "first": "a"}, "$.x[0].first: expected int | None, got str"),
        (Kept[int], {"value": 1, "past": [""]}, "$.x[0].past[0]: expected int, got str"),
        (KeptPoint, {"value": 1, "note": ""}, "$.x[0].value: expected Point, got int"),
        (Chain, {"value": 1, "rest": {}}, "$.x[0].rest.value: expected int, got nothing"),
        (Size, {"width": 1.5}, "$.x[0].width: expected int, got float"),
        (Job, {"name": "long name"}, "$.x[0]: not a valid Job: Length of 'name' must be <= 3"),
        (Job, {"name": "a", "priority": "x"}, "$.x[0]: not a valid Job: invalid literal for int()"),
        (Circle, {"type": "Circle", "outerRadius": 0}, "$.x[0].outerRadius: expected float (> 0)"),
        (Circle, {"type": "Square", "outerRadius": 1}, "$.x[0].type: expected one of 'Circle', got 'Square'"),
        (Circle, {"outerRadius": 1}, "$.x[0].type: expected one of 'Circle', got nothing"),
    ],
    ids=case_name,
)  # fmt: skip
def test_what_is_not_such_a_record_is_refused_with_its_path(
    annotation: Any, sent: Any, problem: str
) -> None:
    with pytest.raises(ArgumentsInvalid) as caught:
        bind(taking(list[annotation]), {"x": [sent]})
    assert str(caught.value).startswith(problem)


def test_types_that_cannot_cross_are_refused_when_the_tool_is_loaded() -> None:
    class Open:
        pass

    @dataclass
    class Holder:
        inside: Any

    Holder.__annotations__["inside"] = Open
    with pytest.raises(SignatureInvalid, match=r"parameter 'x': no value .*Open;"):
        taking(Holder)
    Holder.__annotations__["inside"] = "Missing"
    with pytest.raises(SignatureInvalid, match=r"annotations of Holder .*'Missing'"):
        taking(Holder)
    with pytest.raises(Unsupported, match="Growing contains itself"):
        compile_annotation(Growing[int])


def test_a_record_that_contains_itself_is_an_error() -> None:
    tree = Tree("a")
    tree.children.append(tree)
    with pytest.raises(
        ValueNotTransferable, match=r"^\$(\.children\[0\])+ contains itself"
    ):
        encode(tree)


def test_a_record_is_as_deep_as_an_object() -> None:
    tree = Tree("leaf", [])
    for _ in range(49):
        tree = Tree("", [tree])
    # 50 records and the lists in them.
    assert decode(encode(tree))["children"]
    with pytest.raises(ValueNotTransferable, match="100 levels"):
        encode(Tree("", [tree]))


def test_a_subclass_of_a_builtin_type_stays_one() -> None:
    @dataclass
    class Output(dict[str, int]):
        loss: int = 0

        def __post_init__(self) -> None:
            self["loss"] = self.loss

    assert decode(encode(Output(3))) == {"loss": 3}


# -------- What describes dataclasses and their like: TypeScript, schemas and documentation


def written(annotation: Any, *, sent: bool) -> dict[str, Sequence[str]]:
    """Returns the fields of the object types of an annotation, by name."""
    writer = TypeWriter(sent=sent, safe_integers=True)
    check = compile_annotation(annotation, answered=not sent)
    name = writer.written(check)
    assert isinstance(check, ObjectCheck)
    return {name: writer.fields(check)}


def test_typescript_has_the_fields_of_each_direction() -> None:
    number = "number | bigint | Float"
    assert written(Point, sent=True) == {
        "Point": [
            f"x: {number}",
            f"y?: {number} | undefined",
            'colour?: "red" | null | undefined',
        ]
    }
    assert written(Point, sent=False) == {
        "Point": ["x: number", "y: number", 'colour: "red" | null']
    }
    assert written(Account, sent=True) == {
        "Account": ["owner: string", "opening: string | number | bigint"]
    }
    assert written(Account, sent=False) == {
        "Account": ["owner: string", "balance: string"]
    }
    assert written(Page[Point], sent=False) == {
        "PageOfPoint": ["items: Point[]", "following: Point | null"]
    }
    assert written(KeptPoint, sent=False) == {
        "KeptPoint": ["value: Point", "past?: Point[]", "note: string"]
    }
    assert written(Circle, sent=False) == {
        "Circle": ['type: "Circle"', "outerRadius: number", "label?: string"]
    }


def test_the_keys_of_unpacked_options_are_parameters() -> None:
    def tool(first: int, **options: Unpack[Kept[Decimal]]) -> None: ...

    signature = Signature(tool)
    assert bind(signature, {"first": 1, "value": "1.5"}) == (
        [],
        {"first": 1, "value": Decimal("1.5")},
    )
    for given, problem in (
        ({"first": 1}, r"\$\.value: missing argument, expected Decimal"),
        ({"first": 1, "value": "a"}, r"\$\.value: expected Decimal"),
        ({"first": 1, "value": 1, "other": 2}, r"\$\.other: unexpected argument"),
        ([1], r"\$\.value: missing argument"),
    ):
        with pytest.raises(ArgumentsInvalid, match=problem):
            bind(signature, given)
    assert signature.schema()["required"] == ["first", "value"]
    assert (
        signature.written() == "first: int, value: Decimal, past: list[Decimal] = ..."
    )


def test_the_schema_has_defaults_as_they_are_sent() -> None:
    def tool(
        point: Point = Point(1.0),  # noqa: B008 - it is not changed
        colours: tuple[Colour, ...] = (Colour.RED,),
        wait: timedelta = timedelta(0),
        data: bytes = b"",
        other: object = object(),
    ) -> None: ...

    signature = Signature(tool)
    defaults = {
        name: described.get("default", "none")
        for name, described in signature.schema()["properties"].items()
    }
    assert defaults == {
        "point": {"x": 1.0, "y": 0.0, "colour": None},
        "colours": ("red",),
        "wait": "PT0S",
        "data": "none",
        "other": "none",
    }
    assert "wait: timedelta = 'PT0S', data: bytes = ...," in signature.written()


def test_only_a_written_docstring_is_the_documentation() -> None:
    for kind, text in ((Point, "A place."), (Line, ""), (Size, ""), (Untyped, "")):
        check = compile_annotation(kind)
        assert isinstance(check, ObjectCheck)
        assert check.documentation == text
        defined = json_schema(check)["$defs"][kind.__name__]
        assert defined.get("description", "") == text
