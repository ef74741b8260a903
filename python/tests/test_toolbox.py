"""Which of a module's names are tools and hooks."""

from __future__ import annotations

import functools
import types
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from snakepit_bridge import on_shutdown, on_startup, tool, toolset
from snakepit_bridge.tools.binding import bind
from snakepit_bridge.tools.tool import ToolKind
from snakepit_bridge.tools.toolbox import Toolbox, ToolsInvalid


def module(*items: Any, **names: Any) -> types.ModuleType:
    made = types.ModuleType("tools_of_a_test")
    for i, item in enumerate(items):
        setattr(made, f"item_{i}", item)
    for name, item in names.items():
        setattr(made, name, item)
    return made


@tool
def plain() -> None:
    """Does nothing.

    At all.
    """


@tool(name="other.name")
async def renamed() -> None: ...


@tool
def yields() -> Iterator[int]:
    yield 1


@tool
async def yields_later() -> AsyncIterator[int]:
    yield 1


@tool
def returns_iterator() -> Iterator[int]:
    return iter([1])


def test_every_kind_of_function_can_be_a_tool() -> None:
    tools = Toolbox(
        module(plain, renamed, yields, yields_later, returns_iterator)
    ).tools
    assert {name: found.kind for name, found in tools.items()} == {
        "plain": ToolKind.FUNCTION,
        "other.name": ToolKind.COROUTINE,
        "yields": ToolKind.GENERATOR,
        "yields_later": ToolKind.ASYNC_GENERATOR,
        "returns_iterator": ToolKind.GENERATOR,
    }
    assert tools["plain"].description == "Does nothing.\n\nAt all."


def test_a_tool_stays_the_function_that_it_was() -> None:
    assert list(yields()) == [1]


def test_a_function_of_two_names_is_one_tool() -> None:
    assert list(Toolbox(module(a=plain, b=plain)).tools) == ["plain"]


def test_a_decorator_over_a_tool_is_called_too() -> None:
    @functools.wraps(plain)
    def wrapper() -> str:
        return "wrapped"

    assert Toolbox(module(wrapper)).tools["plain"].function() == "wrapped"


def test_a_wrapped_generator_is_still_a_stream() -> None:
    @functools.wraps(yields)
    def wrapper() -> Any:
        return yields()

    made = Toolbox(module(wrapper)).tools["yields"]
    assert made.streams
    # Unless a call returns something else.
    assert made.is_open


def test_two_tools_of_one_name_are_refused() -> None:
    @tool(name="plain")
    def second() -> None: ...

    with pytest.raises(ToolsInvalid, match=r"two tools are named 'plain'.*second"):
        Toolbox(module(plain, second))


def test_a_module_without_tools_is_refused() -> None:
    with pytest.raises(ToolsInvalid, match="decorate a function with @tool"):
        Toolbox(module(print))


def test_a_signature_that_cannot_be_called_names_the_tool() -> None:
    @tool
    def odd(x: Callable[[], None]) -> None: ...

    with pytest.raises(ToolsInvalid, match=r"the tool .*odd: parameter 'x'"):
        Toolbox(module(odd))


def run_startup(toolbox: Toolbox) -> None:
    for hook in toolbox.startup_hooks():
        hook()


def test_a_toolset_is_made_once_and_its_methods_are_tools() -> None:
    made = []

    @toolset(prefix="counter.")
    class Counter:
        def __init__(self) -> None:
            made.append(self)
            self.count = 0

        @tool
        def add(self, n: int) -> int:
            self.count += n
            return self.count

        @staticmethod
        @tool
        def zero() -> int:
            return 0

        @classmethod
        @tool
        def name(cls) -> str:
            return cls.__name__

        def private(self) -> None: ...

    toolbox = Toolbox(module(Counter))
    assert made == []
    run_startup(toolbox)
    assert len(made) == 1
    assert sorted(toolbox.tools) == ["counter.add", "counter.name", "counter.zero"]
    add = toolbox.tools["counter.add"]
    positional, _ = bind(add.signature, [2])
    assert add.function(*positional) == 2
    assert add.function(n=3) == 5


def test_hooks_run_in_order_with_toolsets_in_between() -> None:
    order: list[str] = []

    @on_startup
    def first() -> None:
        order.append("module starts")

    @toolset
    class Set:
        def __init__(self) -> None:
            order.append("toolset made")

        @on_startup
        def start(self) -> None:
            order.append("toolset starts")

        @on_shutdown
        def stop(self) -> None:
            order.append("toolset ends")

        @tool
        def noop(self) -> None: ...

    @on_shutdown
    def last() -> None:
        order.append("module ends")

    toolbox = Toolbox(module(Set, first, last))
    run_startup(toolbox)
    for hook in toolbox.shutdown_hooks():
        hook()
    assert order == [
        "module starts",
        "toolset made",
        "toolset starts",
        "toolset ends",
        "module ends",
    ]


def test_tools_in_a_class_that_is_no_toolset_are_not_silently_lost() -> None:
    class Forgotten:
        @tool
        def lost(self) -> None: ...

    Forgotten.__module__ = "tools_of_a_test"
    with pytest.raises(ToolsInvalid, match="put @toolset on it"):
        Toolbox(module(plain, Forgotten))


def test_a_toolset_inherits_the_tools_of_its_base() -> None:
    class Base:
        @tool
        def inherited(self) -> str:
            return type(self).__name__

    @toolset
    class Child(Base):
        pass

    Base.__module__ = "tools_of_a_test"
    toolbox = Toolbox(module(Base, Child))
    run_startup(toolbox)
    assert toolbox.tools["inherited"].function() == "Child"


@pytest.mark.parametrize("decorator", [tool, on_startup, on_shutdown])
def test_a_decorator_of_functions_refuses_a_class(decorator: Any) -> None:
    with pytest.raises(TypeError, match="is for functions and methods"):
        decorator(int)


def test_toolset_refuses_a_function() -> None:
    with pytest.raises(TypeError, match="is for classes"):
        toolset(print)  # type: ignore[call-overload]
