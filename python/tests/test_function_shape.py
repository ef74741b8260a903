"""What is read of a function itself is what `inspect` says of it."""

from __future__ import annotations

import functools
import inspect
import json
import subprocess
import sys
import typing
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Optional, TypeVar

import pytest
from conftest import Host

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.tools import function_shape as shape
from snakepit_bridge.tools.annotations import compile
from snakepit_bridge.tools.annotations.compile import hints_of, origin_of, parts_of
from snakepit_bridge.values.decode import decode

BOTH_TRANSPORTS = True


def nothing() -> None: ...


def all_kinds(
    a: int, /, b: int, c: int = 1, *d: int, e: int, f: int = 2, **g: int
) -> None: ...


def by_name_only(*, e: int = 3, f: int) -> None: ...


def defaults_before_slash(a: int = 1, /, b: int = 2) -> None: ...


def rest_and_local(*rest: int) -> int:
    local = len(rest)
    return local


def generator(a: int) -> Iterator[int]:
    yield a


async def coroutine(a: int) -> None: ...


async def async_generator(a: int) -> AsyncIterator[int]:
    yield a


@functools.wraps(coroutine)
def wraps_a_coroutine(*arguments: Any) -> Any:
    return coroutine(*arguments)


def signed(*arguments: Any) -> None: ...


signed.__signature__ = inspect.signature(all_kinds)  # type: ignore[attr-defined]


class Things:
    def method(self, a: int, b: int = 1) -> None: ...

    def without_self(*arguments: int) -> None: ...

    @classmethod
    def of_class(cls, a: int) -> None: ...

    @staticmethod
    def static(a: int) -> None: ...

    async def coroutine(self) -> None: ...

    def __call__(self, a: int) -> None: ...


SHAPES: list[Callable[..., Any]] = [
    nothing,
    all_kinds,
    by_name_only,
    defaults_before_slash,
    rest_and_local,
    generator,
    coroutine,
    async_generator,
    wraps_a_coroutine,
    signed,
    functools.partial(all_kinds, 1, e=4),
    functools.partial(coroutine, 1),
    functools.partial(generator, 1),
    functools.partial(async_generator, 1),
    lambda a, b=2: a,
    Things,
    Things(),
    Things.method,
    Things().method,
    Things().without_self,  # type: ignore[misc]
    Things.of_class,
    Things.static,
    Things().coroutine,
    sorted,
]


@pytest.mark.parametrize("function", SHAPES)
def test_it_is_what_inspect_says(function: Callable[..., Any]) -> None:
    found = [
        (each.name, each.kind, each.default) for each in shape.parameters_of(function)
    ]
    expected = [
        (
            each.name,
            int(each.kind),
            shape.NO_DEFAULT if each.default is each.empty else each.default,
        )
        for each in inspect.signature(function).parameters.values()
    ]
    assert found == expected
    assert shape.is_generator(function) == inspect.isgeneratorfunction(function)
    assert shape.is_coroutine(function) == inspect.iscoroutinefunction(function)
    asynchronous = inspect.isasyncgenfunction(function)
    assert shape.is_async_generator(function) == asynchronous
    assert shape.unwrapped(function) is inspect.unwrap(function)


ORDINARY: list[tuple[Callable[..., Any], int]] = [
    (all_kinds, 7),
    (generator, 1),
    (coroutine, 1),
    (async_generator, 1),
    (Things().method, 2),
    (Things.of_class, 1),
    (Things().coroutine, 0),
]


@pytest.mark.parametrize(("function", "parameters"), ORDINARY)
def test_an_ordinary_function_is_read_without_inspect(
    function: Callable[..., Any], parameters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "inspect", None)
    assert len(shape.parameters_of(function)) == parameters
    shape.is_generator(function)
    shape.is_coroutine(function)
    shape.is_async_generator(function)


def test_an_attribute_of_an_ordinary_object_is_found_without_inspect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "inspect", None)
    answers = Answers()
    assert shape.attribute_of(answers, "mark") is None
    answers.mark = 5  # type: ignore[attr-defined]
    assert shape.attribute_of(answers, "mark") == 5


def test_a_builtin_that_says_nothing_raises() -> None:
    with pytest.raises(ValueError, match="signature"):
        shape.parameters_of(min)


class Marked:
    mark = 1


class Answers:
    """Has an answer for every name."""

    def __getattr__(self, name: str) -> str:
        return name


class Slotted:
    __slots__ = ("mark",)


@pytest.mark.parametrize(
    "item", [Marked(), Answers(), Slotted(), 7, nothing, [], len, int]
)
def test_attributes_are_those_that_inspect_finds(item: object) -> None:
    expected = inspect.getattr_static(item, "mark", None)
    assert shape.attribute_of(item, "mark") is expected


# -------- Annotations that are read without `typing` are read as `typing` reads them

T = TypeVar("T")


class Shop:
    def sell(self, item: str, price: Shop | None, *more: int) -> list[Shop]:
        return []


def text(a: int, b: list[str] = [], /, *, c: dict[str, float | None]) -> None: ...  # noqa: B006
def nested(a: "list['Shop']", b: tuple[int, ...], c: tuple[()]) -> "Shop":  # noqa: UP037
    return Shop()


def forward(a: list["Shop"], b: dict[str, list["Shop"]]) -> None: ...  # noqa: UP037
def called(a: Callable[[int], str], b: list[Callable[..., int]]) -> None: ...
def of_typing(a: Optional[int], b: Any, c: typing.List[int], d: T) -> T:  # noqa: UP006, UP045
    return d


def annotated(a: Annotated[int, "about it"], b: int = None) -> None: ...  # type: ignore[assignment] # noqa: RUF013
def bare(a, b=1): ...  # type: ignore[no-untyped-def]


@typing.no_type_check
def unchecked(a: "not even Python"): ...


FUNCTIONS = [
    *(Shop.sell, Shop().sell, text, nested, forward),
    *(called, of_typing, annotated, bare),
]


@pytest.mark.parametrize("function", [*FUNCTIONS, unchecked, Shop, print])
def test_the_hints_of_a_function_are_those_of_typing(function: Any) -> None:
    assert hints_of(function) == typing.get_type_hints(function, include_extras=True)


@pytest.mark.parametrize("function", [Shop.sell, Shop().sell, text, bare])
def test_ordinary_hints_are_resolved_here(function: Any) -> None:
    assert compile._builtin_hints(function) is not None


@pytest.mark.parametrize("function", FUNCTIONS)
def test_origin_and_parts_are_those_of_typing(function: Any) -> None:
    for hint in hints_of(function).values():
        assert origin_of(hint) == typing.get_origin(hint)
        assert parts_of(hint) == typing.get_args(hint)


def test_a_name_that_is_not_there_is_reported() -> None:
    def tool(a: Nowhere) -> None: ...  # type: ignore[name-defined] # noqa: F821

    with pytest.raises(NameError, match="Nowhere"):
        hints_of(tool)


TOOLS = """
import collections.abc
from snakepit_bridge import tool

@tool
def plain(a: int, b: list[float], c: dict[str, int | None], d: tuple[int, ...], e: int = 4): ...

@tool
def of_abc(a: collections.abc.Sequence[str], b: set[int], c: bytes = b"") -> list[bool]:
    ...

@tool
def shapeless(a, *rest: int, **other: str) -> None: ...

@tool
async def later(to: int | str) -> None: ...
"""
SCHEMAS = """
import sys
{first}
from snakepit_bridge.tools.toolbox import Toolbox
import tools
found = [tool for tool in Toolbox(tools).tools.values()]
described = [(t.name, t.kind.value, t.signature.written(), t.signature.schema()) for t in found]
had_typing = "typing" in sys.modules
import json
print(json.dumps([had_typing, described]))
"""


def test_tools_without_typing_are_the_same_as_with_it(tmp_path: Any) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    without, with_it = (schemas(tmp_path, first) for first in ("", "import typing"))
    assert (without[0], with_it[0]) == (False, True)
    assert without[1] == with_it[1]
    assert [tool[1] for tool in without[1]] == ["function"] * 3 + ["coroutine"]


def schemas(directory: Any, first: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", SCHEMAS.format(first=first)],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


# ---------- What counts is what a call returns, and not what a decorator wraps

RETURNED = (Path(__file__).parent / "support" / "decorated_tools.py").read_text()
THREADS = pytest.mark.parametrize("calls_per_worker", [1, 3])

ANSWERS: list[tuple[str, Any, Any]] = [
    ("passed", [1], [1, "passed", True]),
    ("passed", {"n": 1}, [1, "passed", True]),
    ("passed_twice", [1], [1, "passed_twice", True]),
    ("bound", None, [7, "bound", True]),
    ("like_wrapt_passing", [1], [1, "like_wrapt_passing", True]),
    ("cached", [1], [1, "cached", True]),
    ("listed", [3], [0, 1, 2]),
    ("listed_truly", [3], [0, 1, 2]),
    ("threaded", [-3], 3),
    ("promises", [5], 5),
    ("promises_a_coroutine", [5], 5),
    ("promises_a_task", [5], 5),
    ("says_nothing", [5], 5),
    ("dispatched", [None], "object"),
    ("dispatched", [1], "int"),
    ("dispatched", ["a"], "str"),
    ("doubling", [2], 4),
    ("method", [3], 3),
    ("by_type", [1], "int"),
    ("by_type", ["a"], "any"),
]


def conversation_of(shared: Host, calls_per_worker: int) -> Any:
    return shared(RETURNED, callsPerWorker=calls_per_worker).converse()


@THREADS
@pytest.mark.parametrize(("name", "given", "answer"), ANSWERS)
def test_a_call_answers_with_what_it_returned_or_what_that_gave(
    shared: Host, name: str, given: Any, answer: Any, calls_per_worker: int
) -> None:
    conversation = conversation_of(shared, calls_per_worker)
    for _ in range(1 if name == "cached" else 2):
        assert conversation.call(name, given) == answer


@THREADS
@pytest.mark.parametrize("name", ["ran", "like_wrapt"])
def test_a_decorator_may_run_a_loop_itself(
    shared: Host, name: str, calls_per_worker: int
) -> None:
    conversation = conversation_of(shared, calls_per_worker)
    for _ in range(2):
        # In the main thread, or in one for this call.
        in_main = calls_per_worker == 1
        assert conversation.call(name, [1]) == [1, name, in_main]


STREAMS = ["passed_stream", "passed_stream_later", "promises_a_stream", "counting"]


@THREADS
@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_one_whatever_made_it(
    shared: Host, name: str, calls_per_worker: int
) -> None:
    conversation = conversation_of(shared, calls_per_worker)
    call_id = conversation.begin(name, [3], stream_credit=10)
    assert [conversation.chunk() for _ in range(3)] == [0, 1, 2]
    end = conversation.terminal(call_id).end
    assert end.call_id == call_id
    if name == "passed_stream":
        assert decode(end.value) == "end"


@THREADS
def test_a_list_in_the_place_of_a_stream_is_its_result(
    shared: Host, calls_per_worker: int
) -> None:
    conversation = conversation_of(shared, calls_per_worker)
    call_id = conversation.begin("listed", [3], stream_credit=10)
    assert decode(conversation.terminal(call_id).end.value) == [0, 1, 2]


@pytest.mark.parametrize("name", ["passed_stream", "passed_stream_later"])
def test_a_stream_in_the_place_of_a_result_is_refused_with_the_remedy(
    shared: Host, name: str
) -> None:
    failure = conversation_of(shared, 1).failure(name, [3])
    assert failure.kind == pb.FAILURE_KIND_VALUE_NOT_TRANSFERABLE
    assert "call it with stream()" in failure.message


@pytest.mark.parametrize("name", ["passed", "promises", "listed_truly", "dispatched"])
def test_what_makes_no_stream_is_not_called_for_one(shared: Host, name: str) -> None:
    failure = conversation_of(shared, 1).failure(name, [3], stream_credit=1)
    assert failure.kind == pb.FAILURE_KIND_WRONG_SHAPE


@THREADS
def test_what_it_raises_later_is_its_failure(
    shared: Host, calls_per_worker: int
) -> None:
    conversation = conversation_of(shared, calls_per_worker)
    failure = conversation.failure("fails")
    assert failure.message == "LookupError: later"
    assert failure.began
    failure = conversation.failure("cancels_itself")
    assert "CancelledError" in failure.message
    # The worker is as before.
    assert conversation.call("passed", [1]) == [1, "passed", True]


@THREADS
def test_it_is_cancelled_while_it_is_awaited(
    start: Host, calls_per_worker: int
) -> None:
    worker = start(RETURNED, callsPerWorker=calls_per_worker)
    conversation = worker.converse()
    call_id = conversation.begin("waits")
    assert conversation.logs.get(timeout=30).message == "begun"
    conversation.cancel(call_id)
    failure = conversation.terminal(call_id).failure
    assert failure.kind == pb.FAILURE_KIND_CANCELLED
    assert conversation.call("ended") == ["waits"]


@THREADS
def test_it_must_not_block_the_loop(shared: Host, calls_per_worker: int) -> None:
    conversation = conversation_of(shared, calls_per_worker)
    assert "await host_async()" in conversation.call("asks")


def test_what_an_object_stays_in_the_worker_for_is_awaited_first(start: Host) -> None:
    conversation = start(RETURNED, handles={"imports": [], "limit": 9}).converse()
    call_id = conversation.begin("held", session_id="s", allows_handles=True)
    result = conversation.terminal(call_id).result
    assert b"dict" in result.value


def test_the_tools_are_described_as_what_they_make(shared: Host) -> None:
    conversation = conversation_of(shared, 1)
    described = conversation.unary("Describe", b"", pb.DescribeResponse.FromString)
    streams = {
        each.name for each in described.tools if each.shape == pb.TOOL_SHAPE_STREAM
    }
    # Of `listed`, nothing says that it is none.
    assert streams == {*STREAMS, "listed"}
    schemas = {each.name: each.result_schema_json for each in described.tools}
    assert schemas["promises"] == '{"type": "integer"}'
    assert schemas["listed_truly"] == '{"type": "array", "items": {"type": "integer"}}'
    assert schemas["doubling"] == '{"type": "integer"}'
