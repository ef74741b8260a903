"""What the host learns of an exception."""

from __future__ import annotations

import sys

import pytest
from conftest import Host

from snakepit_bridge.bridge.frame_codec import encode_frame
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.grpc_transport.messages import worker_message
from snakepit_bridge.failures.failure import CallRefused, failure_of
from snakepit_bridge.failures.python_error import python_error
from snakepit_bridge.frames import Failure, FailureCode

TOOLS = """
    import asyncio

    from snakepit_bridge import tool

    class Odd(Exception):
        pass

    def inner() -> None:
        raise KeyError("inner")

    @tool
    def fails() -> None:
        try:
            inner()
        except KeyError as error:
            raise Odd("outer") from error

    @tool
    def fails_again() -> None:
        try:
            inner()
        except KeyError:
            raise ValueError("while handling")

    @tool
    def says_nothing() -> None:
        raise MemoryError

    # Its attributes are the keys of an answer.
    class Delegating(Exception):
        def __getattr__(self, name: str) -> object:
            return {"status": 404}[name]

    @tool
    def delegates() -> None:
        raise Delegating("not found")

    @tool
    def notes() -> None:
        error = ValueError("noted")
        error.__notes__ = ["first", "second"]
        raise error

    @tool
    async def task_group() -> None:
        async def fails() -> None:
            raise Odd("in a task")

        async with asyncio.TaskGroup() as group:
            group.create_task(fails())

    @tool
    def many() -> None:
        inner = ExceptionGroup("inner", [KeyError(2), KeyError(3), KeyError(4)])
        raise ExceptionGroup("many", [KeyError(1), inner])
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="has no exception groups")
def test_the_message_of_a_group_has_its_members(shared: Host) -> None:
    converse = shared(TOOLS).converse()
    assert converse.failure("task_group").message == (
        "ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception): "
        "tools_0.Odd: in a task"
    )
    assert converse.failure("many").message == (
        "ExceptionGroup: many (2 sub-exceptions): "
        "KeyError: 1; KeyError: 2; KeyError: 3; and 1 more"
    )


def test_an_error_carries_type_message_traceback_and_cause(shared: Host) -> None:
    failure = shared(TOOLS).converse().failure("fails")
    assert failure.kind == pb.FAILURE_KIND_TOOL_FAILED
    assert failure.message == "tools_0.Odd: outer"
    error = failure.error
    assert error.type == "tools_0.Odd"
    assert error.message == "outer"
    assert error.traceback.splitlines()[-1] == "tools_0.Odd: outer"
    assert "The above exception was the direct cause" in error.traceback
    assert "snakepit_bridge" not in error.traceback
    assert [frame.function for frame in error.frames] == ["fails"]
    assert error.frames[0].file.endswith("tools_0.py")
    assert error.frames[0].line > 0
    assert error.cause.type == "KeyError"
    assert error.cause.message == "'inner'"
    assert [frame.function for frame in error.cause.frames] == ["fails", "inner"]


def test_an_error_without_a_text_is_its_type_alone(shared: Host) -> None:
    failure = shared(TOOLS).converse().failure("says_nothing")
    assert failure.message == "MemoryError"
    assert failure.error.message == ""


def test_an_error_while_another_is_handled_carries_that_too(shared: Host) -> None:
    error = shared(TOOLS).converse().failure("fails_again").error
    assert error.type == "ValueError"
    assert error.cause.type == "KeyError"


def test_notes_are_carried(shared: Host) -> None:
    error = shared(TOOLS).converse().failure("notes").error
    assert list(error.notes) == ["first", "second"]


@pytest.mark.parametrize("calls_per_worker", [1, 2])
def test_an_error_with_attributes_of_its_own_making_ends_its_call_only(
    shared: Host, calls_per_worker: int
) -> None:
    conversation = shared(TOOLS, callsPerWorker=calls_per_worker).converse()
    failure = conversation.failure("delegates")
    assert failure.message == "tools_0.Delegating: not found"
    assert list(failure.error.notes) == []
    assert conversation.failure("says_nothing").message == "MemoryError"


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:  # noqa: BLE001 - whatever it is
        return caught


def test_a_text_beyond_the_limit_is_cut_in_the_middle() -> None:
    image = python_error(raised(ValueError("a" * 100_000 + "z")))
    assert len(image.message) < 70_000
    assert len(image.traceback) < 70_000
    assert "characters ..." in image.message
    assert image.message.endswith("z")


def test_an_endless_recursion_is_reported_with_a_limited_number_of_frames() -> None:
    def recurse() -> None:
        recurse()

    try:
        recurse()
    except RecursionError as error:
        image = python_error(error)
    assert image.type == "RecursionError"
    assert len(image.frames) == 100
    assert len(encode_frame(Failure(1, "", "", error=image))) < 200_000


def test_a_chain_of_causes_is_cut_and_a_ring_of_them_is_followed_once() -> None:
    error = ValueError("0")
    for i in range(1, 20):
        following = ValueError(str(i))
        following.__cause__ = error
        error = following
    image = python_error(error)
    depth = 0
    while image.cause is not None:
        image = image.cause
        depth += 1
    assert depth == 8
    one, two = ValueError("1"), ValueError("2")
    one.__cause__, two.__cause__ = two, one
    cause = python_error(one).cause
    assert cause is not None and cause.cause is None


def test_a_failure_fits_into_the_smallest_message_that_a_host_can_ask_for() -> None:
    error: BaseException | None = None
    for number in range(4):
        following = ValueError(f"{number}" + "\N{BEETLE}" * 1_000_000)
        vars(following)["__notes__"] = ["\N{BEETLE}" * 10_000] * 100
        following.__cause__ = error
        error = raised(following)
    assert error is not None
    frame = failure_of(1, error, began=True)
    assert isinstance(frame, Failure)
    assert len(encode_frame(frame)) < 1 << 20
    # None of it is left out: texts are shortened.
    message = worker_message(frame)
    assert message.ByteSize() < 1 << 20
    assert message.failure.error.cause.cause.cause.message.startswith("0")
    refusal = CallRefused(
        FailureCode.WRONG_SHAPE, "a" * 9_000_000, "$" + "é" * 9_000_000
    )
    frame = failure_of(1, refusal, began=False)
    assert isinstance(frame, Failure)
    assert len(encode_frame(frame)) < 1 << 20


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_an_error_whose_text_cannot_be_made_is_reported() -> None:
    image = python_error(raised(Mute()))
    assert image.message == "<its text raised RuntimeError>"
    assert "Mute" in image.traceback


def test_lone_surrogates_do_not_stop_an_error() -> None:
    image = python_error(raised(ValueError("\ud800")))
    assert image.message == "\\ud800"


def test_a_suppressed_context_is_no_cause() -> None:
    error = ValueError("outer")
    error.__context__ = ValueError("inner")
    error.__suppress_context__ = True
    assert python_error(error).cause is None


def test_odd_notes_are_limited() -> None:
    error = ValueError("noted")
    vars(error)["__notes__"] = ["n" * 10_000] * 100
    image = python_error(error)
    assert len(image.notes) == 32
    assert all(len(note) <= 2048 for note in image.notes)


def test_a_note_whose_text_cannot_be_made_does_not_stop_an_error() -> None:
    class Silent:
        def __str__(self) -> str:
            raise RuntimeError

    error = ValueError("noted")
    vars(error)["__notes__"] = [Silent(), "second"]
    assert list(python_error(error).notes) == [
        "<its text raised RuntimeError>",
        "second",
    ]


HOSTILE = """
    import sys

    from snakepit_bridge import tool

    def raises(*_: object) -> object:
        raise RuntimeError("its attribute raised")

    class OddText(str):
        # A str of which nothing can be had but itself.
        __str__ = __repr__ = encode = split = strip = __len__ = raises
        __getitem__ = __iter__ = __add__ = __format__ = __eq__ = __hash__ = raises

    class OddList(list):
        __iter__ = __getitem__ = __len__ = __bool__ = raises

    def with_property(name: str) -> type:
        return type("Hostile", (ValueError,), {name: property(raises)})

    class OddName(type):
        def __getattribute__(cls, name: str) -> object:
            if name in ("__name__", "__qualname__", "__module__"):
                raise RuntimeError(name)
            return type.__getattribute__(cls, name)

    def with_odd_names() -> BaseException:
        class OddNames(ValueError, metaclass=OddName):
            pass
        return OddNames("text")

    class OddStr(ValueError):
        def __str__(self) -> str:
            return OddText("odd text")

    class NoStr(ValueError):
        def __str__(self) -> str:
            return 5

    class Exits(ValueError):
        def __str__(self) -> str:
            sys.exit("in its text")

    class NoRepr(ValueError):
        __str__ = __repr__ = raises

    class NoAttributes(ValueError):
        def __getattribute__(self, name: str) -> object:
            raise RuntimeError(name)

    class NoComparison(ValueError):
        __eq__ = __hash__ = __bool__ = __len__ = raises

    class NoModule(ValueError):
        __module__ = 5

    def with_notes(notes: object) -> BaseException:
        error = ValueError("noted")
        error.__notes__ = notes
        return error

    HOSTILE = {
        "cause": lambda: with_property("__cause__")("text"),
        "context": lambda: with_property("__context__")("text"),
        "suppressed": lambda: with_property("__suppress_context__")("text"),
        "traceback": lambda: with_property("__traceback__")("text"),
        "notes": lambda: with_property("__notes__")("text"),
        "args": lambda: with_property("args")("text"),
        "class": lambda: with_property("__class__")("text"),
        "dict": lambda: with_property("__dict__")("text"),
        "odd name": with_odd_names,
        "odd text": lambda: OddStr("text"),
        "odd argument": lambda: ValueError(OddText("odd text")),
        "no text": lambda: NoStr("text"),
        "exits": lambda: Exits("text"),
        "no repr": lambda: NoRepr("text"),
        "no attributes": lambda: NoAttributes("text"),
        "no comparison": lambda: NoComparison("text"),
        "no module": lambda: NoModule("text"),
        "odd notes": lambda: with_notes(OddList(["note"])),
        "odd note": lambda: with_notes([OddText("note"), OddStr("note")]),
        "no notes": lambda: with_notes(5),
        "module not found": lambda: ModuleNotFoundError(OddText("odd"), name=OddText("odd")),
        "name error": lambda: NameError(OddText("odd"), name=OddText("odd")),
        "syntax error": lambda: SyntaxError("bad", (OddText("file"), 1, 1, OddText("text"))),
    }

    @tool
    def raises_hostile(name: str) -> None:
        raise HOSTILE[name]()

    @tool
    async def raises_hostile_async(name: str) -> None:
        raise HOSTILE[name]()

    @tool
    def raises_hostile_cause(name: str) -> None:
        raise KeyError("outer") from HOSTILE[name]()

    @tool
    def chunks_hostile(name: str):
        yield 1
        raise HOSTILE[name]()

    @tool
    def kinds() -> list[str]:
        return list(HOSTILE)
"""


@pytest.mark.parametrize("calls", [1, 2])
def test_an_exception_that_resists_ends_its_call_and_no_other(
    shared: Host, calls: int
) -> None:
    converse = shared(HOSTILE, callsPerWorker=calls).converse()
    kinds = converse.call("kinds")
    assert len(kinds) > 20
    for kind in kinds:
        for tool in ("raises_hostile", "raises_hostile_async", "raises_hostile_cause"):
            failure = converse.failure(tool, [kind])
            assert failure.kind == pb.FAILURE_KIND_TOOL_FAILED, (tool, kind)
            assert tool in failure.error.traceback, (kind, failure)
        call = converse.begin("chunks_hostile", [kind], stream_credit=9)
        failure = converse.terminal(call).failure
        assert failure.kind == pb.FAILURE_KIND_TOOL_FAILED, kind
