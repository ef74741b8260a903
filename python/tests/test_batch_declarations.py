"""How a batch is declared, described, and tested without a host."""

from __future__ import annotations

import sys
import types
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypedDict

import pytest
from support.command_line import run

from snakepit_bridge import Batch, current_batch, current_call, tool
from snakepit_bridge.bridge.describe import describe
from snakepit_bridge.testing import (
    ArgumentsInvalid,
    batch_answers,
    batch_context,
    call_context,
    call_tool,
)
from snakepit_bridge.tools.batch import BatchResultInvalid
from snakepit_bridge.tools.declaration import NO_INPUT, ToolMark
from snakepit_bridge.tools.signature import SignatureInvalid
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.typescript.tools_module import tools_module


class Photo(TypedDict):
    width: int


def texts(texts: list[str]) -> list[list[bool]]: ...  # type: ignore[empty-body]
async def later(texts: Sequence[str]) -> list[bool]: ...  # type: ignore[empty-body]
def promised(texts: Iterable[str]) -> Awaitable[list[bool]]: ...  # type: ignore[empty-body]
def failing(texts: list[str]) -> list[bool | ValueError]: ...  # type: ignore[empty-body]
def only_failing(texts: list[str]) -> list[ValueError]: ...  # type: ignore[empty-body]
def optional(texts: list[str | None]) -> list[str | None]: ...  # type: ignore[empty-body]
def placed(texts: list[str], /) -> list[bool]: ...  # type: ignore[empty-body]
def photos(photos: list[Photo]) -> list[str]: ...  # type: ignore[empty-body]
def bare(texts: list) -> list: ...  # type: ignore[empty-body,type-arg]
def unannotated(texts): ...  # type: ignore[no-untyped-def]
def anything(texts: Any) -> Any: ...


def batch_tool(function: Callable[..., Any], item: object = NO_INPUT) -> Tool:
    return Tool("f", function, ToolMark("f", item, Batch(max=8)))


TEXT = "args: { texts: string } | readonly [texts: string]"
ANY = "args: { texts: unknown } | readonly [texts: unknown]"
METHODS = [
    (texts, f"f({TEXT}): boolean[];"),
    (later, f"f({TEXT}): boolean;"),
    (promised, f"f({TEXT}): boolean;"),
    (failing, f"f({TEXT}): boolean;"),
    (only_failing, f"f({TEXT}): unknown;"),
    (placed, "f(args: { texts: string } | readonly [texts: string]): boolean;"),
    (bare, f"f({ANY}): unknown;"),
    (unannotated, f"f({ANY}): unknown;"),
    (anything, f"f({ANY}): unknown;"),
]


@pytest.mark.parametrize(("function", "method"), METHODS)
def test_typescript_has_the_type_of_one_call(
    function: Callable[..., Any], method: str
) -> None:
    assert f"  {method}\n" in tools_module([batch_tool(function)], "make")


def test_unions_and_typed_dicts_are_those_of_one_call() -> None:
    module = tools_module([batch_tool(optional)], "make")
    assert "texts: string | null" in module
    assert "): string | null;" in module
    assert "photos: Photo" in tools_module([batch_tool(photos)], "make")


def none() -> list[str]: ...  # type: ignore[empty-body]
def two(a: list[str], b: list[str]) -> list[str]: ...  # type: ignore[empty-body]
def rest(*texts: str) -> list[str]: ...  # type: ignore[empty-body]
def named(*, texts: list[str]) -> list[str]: ...  # type: ignore[empty-body]
def no_list(text: str) -> list[str]: ...  # type: ignore[empty-body]
def a_tuple(texts: tuple[str, ...]) -> list[str]: ...  # type: ignore[empty-body]


def yields(texts: list[str]) -> Iterator[str]:
    yield from texts


REFUSED = [
    (none, "takes one argument.*this one takes 0"),
    (two, "takes one argument.*this one takes 2"),
    (rest, "takes one argument"),
    (named, "takes one argument"),
    (no_list, "parameter 'text' of a batch is a list .*not <class 'str'>"),
    (a_tuple, "parameter 'texts' of a batch is a list"),
    (yields, "cannot yield"),
]


@pytest.mark.parametrize(("function", "problem"), REFUSED)
def test_what_takes_no_list_is_refused(
    function: Callable[..., Any], problem: str
) -> None:
    with pytest.raises(SignatureInvalid, match=problem):
        batch_tool(function)


def test_a_batch_reads_no_input_stream() -> None:
    with pytest.raises(SignatureInvalid, match="nor read an input stream"):
        batch_tool(texts, item=int)


def test_the_description_says_how_many_calls_run_together() -> None:
    described = describe({"f": batch_tool(texts), "g": Tool("g", print, _no_batch())})
    batched, single = described
    assert (batched.batch_max, single.batch_max) == (8, None)
    assert '"texts": {"type": "string"}' in batched.arguments_schema_json


def _no_batch() -> ToolMark:
    return ToolMark("g", NO_INPUT)


def test_the_command_line_lists_and_calls_a_batch(tmp_path: Path) -> None:
    tools = tmp_path / "batched.py"
    tools.write_text(
        "from snakepit_bridge import Batch, tool\n"
        "@tool(batch=Batch(max=8))\n"
        "def lengths(texts: list[str]) -> list[int]:\n"
        "    return [len(text) for text in texts]\n"
    )
    listed = run("tools", str(tools)).stdout
    assert listed == "lengths(texts: str) -> int (batches of up to 8)\n"
    assert run("call", str(tools), "lengths", "texts=abc").stdout == "3\n"


def test_imports_nothing_where_nothing_is_a_batch() -> None:
    name = "snakepit_bridge.calls.context.batch_call"
    known = sys.modules.pop(name, None)
    Tool("g", test_imports_nothing_where_nothing_is_a_batch, _no_batch())
    assert name not in sys.modules
    if known is not None:
        sys.modules[name] = known


def lengths(texts: list[str]) -> list[int | Exception]:
    for call, text in zip(current_batch(), texts, strict=True):
        if call.session is not None:
            call.session["text"] = text
    return [len(text) if text else ValueError("nothing") for text in texts]


def test_a_batch_is_tested_as_any_function() -> None:
    with batch_context(2, "lengths", timeout=60) as calls:
        calls[0].session = {}
        calls[1].cancel()
        assert [call.cancelled for call in current_batch()] == [False, True]
        length, error = batch_answers(lengths(["pen", ""]), 2)
        assert current_call().tool == "lengths"
        assert 0 < (current_call().remaining or 0) <= 60
    assert (length, str(error)) == (3, "nothing")
    assert calls[0].session == {"text": "pen"}
    assert [call.call_id for call in calls] == [1, 2]


def test_in_any_other_tool_there_is_one_call() -> None:
    with call_context("single") as call:
        assert current_batch() == (call,)


@tool(batch=Batch(max=8))
def counted(texts: list[str]) -> list[int | Exception]:
    if texts == ["short"]:
        return []
    (call,) = current_batch()
    if call.session is not None:
        call.session["calls"] = call.session.get("calls", 0) + 1
    return lengths(texts)


@tool(batch=Batch(max=8))
async def counted_later(texts: list[str]) -> list[int | Exception]:
    return counted(texts)


@pytest.mark.parametrize("function", [counted, counted_later])
def test_call_tool_runs_a_batch_of_one(function: Callable[..., Any]) -> None:
    session: dict[str, Any] = {}
    assert call_tool(function, ["pen"], session=session) == 3
    assert call_tool(function, {"texts": "water"}, session=session) == 5
    assert session["calls"] == 2
    with pytest.raises(ValueError, match="nothing"):
        call_tool(function, [""])
    with pytest.raises(BatchResultInvalid, match="1 calls returned 0 answers"):
        call_tool(function, ["short"])
    with pytest.raises(ArgumentsInvalid, match=r"\$\.texts"):
        call_tool(function, [["pen"]])


ANSWERS: list[tuple[object, list[object]]] = [
    ((1, 2), [1, 2]),
    (range(2), [0, 1]),
    (types.SimpleNamespace(), []),
    ({1: 2, 3: 4}, []),
    ("ab", []),
    ([1], []),
]


@pytest.mark.parametrize(("returned", "answers"), ANSWERS)
def test_answers_are_a_sequence_with_one_for_each_call(
    returned: object, answers: list[object]
) -> None:
    if answers:
        assert batch_answers(returned, 2) == answers
    else:
        with pytest.raises(Exception, match="batch of 2 calls returned"):
            batch_answers(returned, 2)
