"""Which of a module's names are tools and hooks."""

from __future__ import annotations

import asyncio
import cmath
import datetime
import functools
import importlib
import inspect
import math
import sys
import types
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.signatures import taking

from snakepit_bridge import (
    ValueNotTransferable,
    decoder,
    encoder,
    on_shutdown,
    on_startup,
    tool,
    toolset,
)
from snakepit_bridge.testing import call_tool
from snakepit_bridge.tools.binding import ArgumentsInvalid, bind
from snakepit_bridge.tools.tool import Tool, ToolKind
from snakepit_bridge.tools.toolbox import Toolbox, ToolsInvalid
from snakepit_bridge.typescript.tools_module import tools_module
from snakepit_bridge.values import own_types
from snakepit_bridge.values.encode import encode


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


# ------------ The start and the end of toolsets, and what of a class is a tool


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


# ------------------------ Functions and classes that were not written as tools


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


# ---------- What is said of tools, batches and types that are declared wrongly


class Line:
    def __init__(self, text: str) -> None:
        self.text = text


@toolset
class Base:
    @tool
    def good(self) -> int:
        return 1


@toolset
class Derived(Base):
    pass


@pytest.mark.parametrize(("given", "remedy"), [(8, 8), (0, 32), (True, 32), ("4", 32)])
def test_a_batch_that_is_no_batch_is_refused_with_what_to_write(
    given: Any, remedy: int
) -> None:
    with pytest.raises(TypeError) as caught:
        tool(batch=given)
    assert str(caught.value) == (
        f"batch={given!r} is not a Batch; write @tool(batch=Batch(max={remedy}))"
    )


@pytest.mark.usefixtures("unregistered")
def test_a_second_encoder_or_decoder_of_a_type_is_refused_with_both_places() -> None:
    def write(line: Line) -> str: ...  # type: ignore[empty-body]

    def read(text: str) -> Line: ...  # type: ignore[empty-body]

    first = write, read

    def write(line: Line) -> bytes: ...  # type: ignore[no-redef,empty-body]

    def read_again(text: str) -> Line: ...  # type: ignore[empty-body]

    encoder(Line)(first[0])
    decoder(first[1])
    places = r"Line has two functions under @{}: .*{}.*\.py:\d+\) and .*{}.*\.py:\d+\)"
    with pytest.raises(TypeError, match=places.format("encoder", "write", "write")):
        encoder(Line)(write)
    with pytest.raises(TypeError, match=places.format("decoder", "read", "read_again")):
        decoder(read_again)
    encoder(Line)(first[0])
    assert own_types.ENCODERS[Line] is first[0]
    assert own_types.DECODERS[Line] is first[1]


@pytest.mark.usefixtures("unregistered")
def test_a_module_that_is_loaded_again_replaces_its_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    source = (
        "from pathlib import PosixPath\nfrom snakepit_bridge import encoder\n{}"
        "@encoder(PosixPath)\ndef write(path: PosixPath) -> str: return '{}'\n"
    )
    file = tmp_path / "reloaded_paths.py"
    file.write_text(source.format("", "before"))
    module = importlib.import_module("reloaded_paths")
    monkeypatch.setitem(sys.modules, "reloaded_paths", module)
    file.write_text(source.format("\n\n", "after"))
    importlib.reload(module)
    written: Any = own_types.ENCODERS[type(tmp_path)]
    assert written(tmp_path) == "after"


@pytest.mark.usefixtures("unregistered")
def test_a_decoder_that_returns_another_type_is_an_error_of_the_tool() -> None:
    def read(text: str) -> Line:
        found: Any = text
        return found  # type: ignore[no-any-return]

    decoder(read)
    with pytest.raises(TypeError, match=r"read returned str; return Line, as its"):
        bind(taking(Line), {"x": "a"})


@pytest.mark.usefixtures("unregistered")
def test_a_decoder_may_make_what_isinstance_does_not_take() -> None:
    from typing import TypedDict

    class Point(TypedDict):
        x: int

    def read(x: int) -> Any:
        return {"x": x}

    read.__annotations__ = {"x": int, "return": Point}
    decoder(read)
    assert bind(taking(Point), {"x": 1}) == ([], {"x": {"x": 1}})


def test_a_name_of_two_toolsets_is_refused_with_both_classes() -> None:
    module = types.ModuleType("inherits")
    vars(module).update(Base=Base, Derived=Derived)
    toolbox = Toolbox(module)
    with pytest.raises(ToolsInvalid) as caught:
        for hook in toolbox.startup_hooks():
            hook()
    message = str(caught.value)
    assert "Base.good of the toolset Base and" in message
    assert "Base.good of the toolset Derived; give one" in message
    assert message.endswith("or its toolset a prefix=...")


def test_a_method_without_its_instance_is_refused_with_both_remedies() -> None:
    with pytest.raises(
        TypeError, match=r"Base\.good is a method without.*snakepit_tools\.call\('good'"
    ):
        call_tool(Base.good, {})
    assert call_tool(Base().good, {}) == 1


def test_a_missing_value_of_pandas_is_refused_with_none_as_remedy() -> None:
    # Its type's name is all that is known of it.
    missing = type("NAType", (), {})()
    with pytest.raises(
        ValueNotTransferable,
        match=r"\$\.a\[1\] has the type .*NAType, .*send None in its place",
    ):
        encode({"a": [1, missing]})
