"""The start and the end of toolsets, and what of a class is a tool."""

from __future__ import annotations

import asyncio
import inspect
import types
from typing import Any

import pytest

from snakepit_bridge import on_shutdown, on_startup, tool, toolset
from snakepit_bridge.tools.toolbox import Toolbox, ToolsInvalid


def module(**names: Any) -> types.ModuleType:
    made = types.ModuleType("existing")
    vars(made).update(names)
    return made


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


def test_setup_and_teardown_are_hooks_beside_decorated_tools() -> None:
    class Decorated(Model):
        def setup(self) -> None:
            self.n = 40

        @tool
        def two(self) -> int:
            return self.n + 2

        def teardown(self) -> None:
            self.happened.append(f"torn down at {self.n}")

    toolbox = started(Decorated)
    assert list(toolbox.tools) == ["two"]
    assert toolbox.tools["two"].function() == 42
    end(toolbox)
    assert happened == ["made", "torn down at 40"]


def test_a_decorated_method_named_setup_is_what_its_decorator_says() -> None:
    class Decorated(Model):
        @tool
        def setup(self) -> int:
            return 1

        @on_shutdown
        def teardown(self) -> None:
            self.happened.append("torn down")

    toolbox = started(Decorated)
    assert list(toolbox.tools) == ["setup"]
    end(toolbox)
    assert happened == ["made", "torn down"]


class Whole(Model):
    def __enter__(self) -> None:
        self.happened.append("entered")

    def __exit__(self, *error: object) -> None:
        self.happened.append("left")

    def setup(self) -> None:
        self.happened.append("set up")

    def teardown(self) -> None:
        self.happened.append("torn down")


def test_what_has_started_is_ended_when_a_later_step_of_the_start_fails() -> None:
    class Fails:
        def __enter__(self) -> None: ...

        def __exit__(self, *error: object) -> None:
            happened.append("the second left")

        def setup(self) -> None:
            raise OSError("no weights")

        def teardown(self) -> None:
            happened.append("never set up")

        def other(self) -> None: ...

    happened.clear()
    toolbox = Toolbox(module(a=toolset(Whole), b=toolset(Fails)))
    with pytest.raises(OSError, match="no weights"):
        for hook in toolbox.startup_hooks():
            hook()
    end(toolbox)
    assert happened == [
        *("made", "entered", "set up"),
        *("the second left", "torn down", "left"),
    ]


def test_one_name_in_two_toolsets_is_refused_before_any_hook_runs() -> None:
    class Second(Model): ...

    @on_startup
    def begins() -> None:
        happened.append("begun")

    happened.clear()
    toolbox = Toolbox(module(begins=begins, a=toolset(Whole), b=toolset(Second)))
    with pytest.raises(
        ToolsInvalid, match=r"two tools are named 'predict'.*Model\.predict"
    ):
        next(toolbox.startup_hooks())
    assert happened == []


def test_a_method_with_the_name_of_a_function_is_refused_before_any_hook_runs() -> None:
    happened.clear()
    predict = tool(name="predict")(lambda: 1)
    toolbox = Toolbox(module(a=toolset(Whole), predict=predict))
    with pytest.raises(ToolsInvalid, match="two tools are named 'predict'"):
        next(toolbox.startup_hooks())
    assert happened == []
