"""Functions and classes that were not written as tools."""

from __future__ import annotations

import cmath
import datetime
import inspect
import math
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snakepit_bridge import tool
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.tool import Tool, ToolKind
from snakepit_bridge.tools.toolbox import Toolbox, ToolsInvalid
from snakepit_bridge.typescript.tools_module import tools_module


def module(**names: Any) -> types.ModuleType:
    made = types.ModuleType("existing")
    vars(made).update(names)
    return made


def exposed(source: types.ModuleType, *names: str) -> dict[str, Tool]:
    toolbox = Toolbox()
    toolbox.add(source, list(names))
    return toolbox.tools


def call(tool: Tool, given: Any) -> Any:
    positional, keywords = bind(tool.signature, given)
    return tool.function(*positional, **keywords)


def without_signature() -> Any:
    """Returns a builtin function whose signature Python does not know."""
    for candidate in (math.hypot, max, vars(dict)["get"]):
        try:
            inspect.signature(candidate)
        except ValueError:
            return candidate
    raise AssertionError("every candidate has a signature")


def test_a_function_of_any_module_is_a_tool_when_it_is_named() -> None:
    tools = exposed(math, "sqrt", "gcd")
    assert list(tools) == ["sqrt", "gcd"]
    assert call(tools["sqrt"], [9.0]) == 3.0
    assert call(tools["sqrt"], {"x": 9.0}) == 3.0
    assert call(tools["gcd"], [12, 18]) == 6


def test_a_builtin_without_a_signature_takes_any_arguments() -> None:
    longest = exposed(module(longest=max), "longest")["longest"]
    assert call(longest, [1, 3, 2]) == 3
    odd = exposed(module(odd=without_signature()), "odd")["odd"]
    text = tools_module([odd], "types")
    taken = "| { [name: string]: unknown } | readonly [...rest: Array<unknown>]"
    assert f"odd( args?: {taken}, ): unknown;" in " ".join(text.split())


def test_only_what_is_named_is_exposed() -> None:
    @tool
    def declared() -> None: ...

    def plain() -> None: ...

    tools = exposed(module(declared=declared, plain=plain), "plain")
    assert list(tools) == ["plain"]


def test_a_missing_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ToolsInvalid, match=r"math has no 'sqr'.*did you mean 'sqrt'"):
        exposed(math, "sqr")


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(ToolsInvalid, match=r"math.pi.* is of type float and cannot be"):
        exposed(math, "pi")


def test_one_name_of_two_modules_is_refused() -> None:
    toolbox = Toolbox()
    toolbox.add(math, ["sqrt"])
    with pytest.raises(ToolsInvalid, match=r"named 'sqrt'.*cmath.sqrt; put a function"):
        toolbox.add(cmath, ["sqrt"])


def test_annotations_that_no_tool_could_have_require_nothing() -> None:
    def existing(when: datetime.tzinfo, many: list[int], where: Unknown) -> int:  # type: ignore[name-defined]  # noqa: F821
        return len(many)

    def resolved(when: datetime.tzinfo, many: list[int]) -> Iterator[Path]:
        yield Path(str(when))

    tools = exposed(module(existing=existing, resolved=resolved), "existing")
    assert call(tools["existing"], ["anything", [1, 2], None]) == 2
    known = exposed(module(resolved=resolved), "resolved")["resolved"]
    assert known.kind is ToolKind.GENERATOR
    with pytest.raises(ArgumentsInvalid, match=r"\$.many: expected list\[int\]"):
        bind(known.signature, ["anything", "text"])


def test_a_class_is_called_like_its_constructor() -> None:
    tools = exposed(datetime, "timedelta")
    assert call(tools["timedelta"], {"hours": 2}) == datetime.timedelta(hours=2)


def test_functions_in_a_list_are_tools() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    tools = Toolbox(module(TOOLS=[add, math.sqrt])).tools
    assert list(tools) == ["add", "sqrt"]
    with pytest.raises(ArgumentsInvalid, match="expected int, got str"):
        bind(tools["add"].signature, {"a": "1", "b": 2})


def test_a_tool_in_the_list_keeps_what_its_decorator_says() -> None:
    @tool(name="sum")
    def add(a: int, b: int) -> int:
        return a + b

    assert list(Toolbox(module(add=add, TOOLS=[add])).tools) == ["sum"]


def test_a_list_has_the_rules_of_the_decorator() -> None:
    def odd(zone: datetime.tzinfo) -> None: ...

    with pytest.raises(ToolsInvalid, match="parameter 'zone'"):
        Toolbox(module(TOOLS=[odd]))


@pytest.mark.parametrize(
    ("listed", "problem"),
    [
        ("add", "is a list of functions, not 'add'"),
        ([1], "and 1 is none"),
        ([Path], "becomes a toolset with @toolset"),
        ([lambda: 1], "has no name that a host could call"),
    ],
)
def test_a_list_of_something_else_is_refused(listed: Any, problem: str) -> None:
    with pytest.raises(ToolsInvalid, match=problem):
        Toolbox(module(TOOLS=listed))
