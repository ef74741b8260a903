"""Functions and classes that were not written as tools."""

from __future__ import annotations

import asyncio
import cmath
import datetime
import inspect
import math
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snakepit_bridge import on_shutdown, tool, toolset
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
    with pytest.raises(ToolsInvalid, match=r"math.pi.* is a float and cannot be"):
        exposed(math, "pi")


def test_one_name_of_two_modules_is_refused() -> None:
    toolbox = Toolbox()
    toolbox.add(math, ["sqrt"])
    with pytest.raises(ToolsInvalid, match=r"two tools are named 'sqrt'.*cmath.sqrt"):
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


class Model:
    """Notes what happens to it."""

    happened: list[str]

    def __init__(self) -> None:
        self.happened = happened
        self.happened.append("made")

    def predict(self, x: float) -> float:
        return 2 * x

    def _private(self) -> None: ...

    @property
    def size(self) -> int:
        return 1


happened: list[str] = []


def started(cls: type) -> Toolbox:
    happened.clear()
    toolbox = Toolbox(module(Model=toolset(cls)))
    for hook in toolbox.startup_hooks():
        finish(hook())
    return toolbox


def finish(made: Any) -> None:
    if inspect.isawaitable(made):

        async def wait() -> None:
            await made

        asyncio.run(wait())


def end(toolbox: Toolbox) -> None:
    for hook in toolbox.shutdown_hooks():
        finish(hook())


def test_public_methods_are_tools_where_none_is_decorated() -> None:
    class Plain(Model): ...

    assert list(started(Plain).tools) == ["predict"]


def test_methods_inherited_from_another_module_are_none() -> None:
    class Counter(dict):  # type: ignore[type-arg]
        def count(self) -> int:
            return len(self)

    assert list(started(Counter).tools) == ["count"]


def test_decorated_methods_are_the_only_tools_where_there_is_one() -> None:
    class Marked(Model):
        @tool
        def train(self) -> None: ...

    assert list(started(Marked).tools) == ["train"]


def test_a_context_manager_is_entered_before_the_first_call_and_left_last() -> None:
    class Entered(Model):
        def __enter__(self) -> Model:
            self.happened.append("entered")
            return self

        def __exit__(self, *error: object) -> None:
            self.happened.append(f"left {error}")

        @on_shutdown
        def stop(self) -> None:
            self.happened.append("stopped")

    toolbox = started(Entered)
    assert happened == ["made", "entered"]
    assert list(toolbox.tools) == ["predict"]
    end(toolbox)
    assert happened[2:] == ["stopped", "left (None, None, None)"]


def test_an_asynchronous_context_manager_is_awaited() -> None:
    class Awaited(Model):
        async def __aenter__(self) -> Model:
            await asyncio.sleep(0)
            self.happened.append("entered")
            return self

        async def __aexit__(self, *error: object) -> None:
            await asyncio.sleep(0)
            self.happened.append("left")

    toolbox = started(Awaited)
    assert happened == ["made", "entered"]
    end(toolbox)
    assert happened[2:] == ["left"]


def test_setup_and_teardown_are_hooks() -> None:
    class Hooked(Model):
        def setup(self) -> None:
            self.happened.append("set up")

        def teardown(self) -> None:
            self.happened.append("torn down")

    toolbox = started(Hooked)
    assert list(toolbox.tools) == ["predict"]
    end(toolbox)
    assert happened == ["made", "set up", "torn down"]


def test_what_was_entered_is_left_when_a_later_toolset_fails() -> None:
    class Entered(Model):
        def __enter__(self) -> None: ...

        def __exit__(self, *error: object) -> None:
            self.happened.append("left")

    class Fails(Model):
        def __init__(self) -> None:
            raise OSError("no weights")

    happened.clear()
    toolbox = Toolbox(module(a=toolset(Entered), b=toolset(Fails)))
    with pytest.raises(OSError, match="no weights"):
        for hook in toolbox.startup_hooks():
            hook()
    for hook in toolbox.exit_hooks():
        hook()
    assert happened == ["made", "left"]
