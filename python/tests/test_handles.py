"""Objects that stay in the worker: what the host may do with them."""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
import operator
import sqlite3
import string
import types
from collections.abc import Callable, Iterator
from typing import Any

import msgpack
import pytest

from snakepit_bridge import Handle, tool
from snakepit_bridge.calls.context.call import NO_HANDLES
from snakepit_bridge.failures.failure import CallRefused
from snakepit_bridge.frames import FailureCode
from snakepit_bridge.handles.handle_table import HandleTable
from snakepit_bridge.handles.handle_tools import Access, handle_tools
from snakepit_bridge.testing import call_context
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.declaration import Answers
from snakepit_bridge.tools.toolbox import Toolbox, ToolsInvalid
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode
from snakepit_bridge.values.reference import reference_image, token_of
from snakepit_bridge.values.value_not_transferable import ValueNotTransferable


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
def perhaps() -> Handle[sqlite3.Connection] | None:
    return None


@tool
def rows() -> Iterator[Handle[sqlite3.Row]]:
    yield from ()


def test_an_object_comes_back_by_its_image_and_nothing_else_does() -> None:
    table, other = HandleTable(9), HandleTable(9)
    value = object()
    encoding = table.reference_to(value)
    assert decode(encoding, held=table) is value
    with pytest.raises(CallRefused, match="from another session"):
        decode(encoding, held=other)
    with pytest.raises(CallRefused, match="in the session that the handle is from"):
        decode(encoding, held=NO_HANDLES)
    with pytest.raises(CallRefused, match="holds no such object"):
        decode(reference_image(bytes(16), value), held=table)
    with pytest.raises(ValueNotTransferable):
        decode(encoding)


def token_in(encoding: bytes) -> bytes:
    return token_of(msgpack.unpackb(encoding).data)


def test_an_object_is_found_inside_of_other_values() -> None:
    table = HandleTable(9)
    held: list[int] = [1]
    data = msgpack.unpackb(table.reference_to(held))
    encoding = msgpack.packb({"a": [1, data]})
    assert decode(encoding, held=table)["a"][1] is held


@pytest.mark.parametrize("data", [b"", b"\x01", msgpack.packb([1, "x"])])
def test_a_malformed_handle_is_no_value(data: bytes) -> None:
    encoding = msgpack.packb(msgpack.ExtType(32, data))
    with pytest.raises(ValueNotTransferable, match="handle without a token"):
        decode(encoding, held=HandleTable(1))


def test_a_released_object_is_gone_and_makes_room() -> None:
    table = HandleTable(1)
    token = token_in(table.reference_to("first"))
    with pytest.raises(CallRefused, match=r"holds 1 objects \(handles.limit\)"):
        table.reference_to("second")
    table.release(token)
    table.release(token)
    with pytest.raises(CallRefused, match="was released"):
        table.resolve(token)
    assert table.resolve(token_in(table.reference_to("second"))) == "second"


def test_an_annotation_makes_a_result_a_handle() -> None:
    tools = toolbox(connect, changes, perhaps, rows).tools
    assert {name: each.answers for name, each in tools.items()} == {
        "connect": Answers.REFERENCE,
        "changes": Answers.VALUE,
        "perhaps": Answers.REFERENCE,
        "rows": Answers.REFERENCE,
    }


def test_the_object_behind_a_handle_is_checked() -> None:
    signature = toolbox(changes).tools["changes"].signature
    connection = sqlite3.connect(":memory:")
    assert bind(signature, {"of": connection}) == ([], {"of": connection})
    with pytest.raises(ArgumentsInvalid, match=r"expected Handle\[Connection\], got"):
        bind(signature, {"of": 1})


def mixed() -> Handle[sqlite3.Connection] | int:
    return 1


def inside() -> list[Handle[sqlite3.Connection]]:
    return []


@pytest.mark.parametrize("function", [mixed, inside])
def test_a_handle_is_all_that_a_tool_returns(function: Any) -> None:
    with pytest.raises(ToolsInvalid, match="is all that a tool returns"):
        toolbox(tool(function))


def test_no_tool_has_a_name_of_the_bridge() -> None:
    @tool(name="snakepit.call")
    def taken() -> None: ...

    with pytest.raises(ToolsInvalid, match="are the bridge's own"):
        toolbox(taken)


def test_only_listed_modules_are_imported_with_what_is_inside() -> None:
    access = Access(["xml.etree", "json"])
    assert access.imported("json") is json
    assert access.imported("xml.etree.ElementTree").__name__ == "xml.etree.ElementTree"
    for name in ("xml", "jsonx", "os", "xml.etreex"):
        with pytest.raises(CallRefused, match=r"handles.imports \(xml.etree, json\)"):
            access.imported(name)
    with pytest.raises(CallRefused, match=r"\(none\)"):
        Access([]).imported("json")


def frames() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (json, "__dict__"),
        (json, "_default_decoder"),
        (logging, "os"),
        (frames(), "gi_frame"),
        (frames(), "gi_code"),
        (types.SimpleNamespace(run=eval), "run"),
        (types.SimpleNamespace(run=getattr), "run"),
    ],
)
def test_what_leads_to_the_interpreter_is_not_offered(target: Any, name: str) -> None:
    with pytest.raises(CallRefused) as refusal:
        Access(["json", "logging"]).attribute(target, name)
    assert refusal.value.is_early == name.startswith("_")


def test_a_missing_attribute_is_reported_with_the_nearest_one() -> None:
    with pytest.raises(AttributeError, match="did you mean 'dumps'"):
        Access(["json"]).attribute(json, "dump_s")


@contextlib.contextmanager
def session() -> Iterator[tuple[Callable[..., Any], Callable[[Any], Any]]]:
    """Gives what calls a tool of handles in a session, and what it holds an object with."""
    tools = handle_tools(["json", "operator", "string", "inspect"])
    table = HandleTable(99)

    def call(name: str, *arguments: Any) -> Any:
        each = tools[f"snakepit.{name}"]
        positional, keywords = bind(each.signature, list(arguments))
        return each.function(*positional, **keywords)

    def held(value: Any) -> Any:
        table.reference_to(value)
        return value

    with call_context("a_tool") as running:
        running.handles = table
        yield call, held


SECRET = types.SimpleNamespace(_key="secret", name="Ada")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("call", ("format", [SECRET], {})),
        ("keep", ("format", [SECRET], {})),
        ("get", ("format",)),
        ("item", (0,)),
        ("iterate", ()),
        ("value", ()),
    ],
)
@pytest.mark.parametrize("target", ["{0._key}", {"a": 1}, [1], 5, None])
def test_only_an_object_that_the_session_holds_is_a_target(
    target: Any, name: str, arguments: tuple[Any, ...]
) -> None:
    sent = decode(encode([target]))[0]
    with session() as (call, held):
        held([1])
        with pytest.raises(CallRefused, match="was sent as a value") as refusal:
            made = call(name, sent, *arguments)
            next(made)
    assert refusal.value.is_early
    assert refusal.value.kind == FailureCode.HANDLE_REFUSED


def test_a_value_cannot_be_awaited_either() -> None:
    with session() as (call, _), pytest.raises(CallRefused, match="sent as a value"):
        call("await", "x").send(None)


def test_an_object_is_held_until_its_last_handle_is_released() -> None:
    table = HandleTable(9)
    value: list[int] = [1]
    tokens = [token_in(table.reference_to(value)) for _ in range(2)]
    assert not table.holds([1])
    for token in tokens:
        assert table.holds(value)
        table.release(token)
        table.release(token)
    assert not table.holds(value)
    assert not NO_HANDLES.holds(value)


class Shouted(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("target", "way"),
    [
        ("{0._key}", ("call", "format", [SECRET], {})),
        ("{a._key}", ("call", "format_map", [{"a": SECRET}], {})),
        (Shouted("{0._key}"), ("call", "format", [SECRET], {})),
        (str, ("call", "format", ["{0._key}", SECRET], {})),
        ("{0._key}", ("get", "format")),
        (
            types.SimpleNamespace(write="{0._key}".format),
            ("call", "write", [SECRET], {}),
        ),
        (types.SimpleNamespace(write=str.format), ("get", "write")),
        (types.SimpleNamespace(write=str.format_map), ("get", "write")),
        ([str.format], ("item", 0)),
        (operator, ("call", "attrgetter", ["_key"], {})),
        (operator, ("get", "methodcaller")),
        (string, ("get", "Formatter")),
        (inspect, ("call", "getattr_static", [SECRET, "_key"], {})),
        (inspect, ("call", "getmembers", [SECRET], {})),
        (SECRET, ("get", "_key")),
        (SECRET, ("call", "__getattribute__", ["_key"], {})),
    ],
)
def test_no_way_in_reads_a_private_name(target: Any, way: tuple[Any, ...]) -> None:
    name, *arguments = way
    with session() as (call, held):
        with pytest.raises(CallRefused):
            call(name, held(target), *arguments)
        # Not because nothing is allowed.
        assert call("get", held(SECRET), "name") == "Ada"
        assert call("call", held("ab"), "upper", [], {}) == "AB"
        assert call("call", held(json), "dumps", [1], {}) == "1"


def test_the_tools_of_handles_do_what_their_names_say() -> None:
    tools = handle_tools(["json"])
    with session() as (call, held):
        module = held(call("import", "json"))
        assert call("call", module, "dumps", [[1, 2]], {"indent": None}) == "[1, 2]"
        assert call("call", held(len), None, [[1, 2]], {}) == 2
        assert call("get", module, "JSONDecoder") is json.JSONDecoder
        assert call("item", held([1, 2]), -1) == 2
        assert list(call("iterate", held(range(2)))) == [0, 1]
        assert call("value", held([1])) == [1]
        with pytest.raises(CallRefused):
            call("call", held(types.SimpleNamespace(f=lambda: eval)), "f", [], {})
    assert {each.answers for name, each in tools.items() if "keep" in name} == {
        Answers.REFERENCE
    }
