"""Calls of a real worker over its real socket, one answer each."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Host

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.values.decode import decode

BOTH_TRANSPORTS = True


@pytest.mark.parametrize("tool", ["greet", "greet_later"])
@pytest.mark.parametrize("calls_per_worker", [1, 4])
def test_a_call_is_answered_with_the_tools_result(
    shared: Host, tool: str, calls_per_worker: int
) -> None:
    conversation = shared("greeter", callsPerWorker=calls_per_worker).converse()
    assert conversation.call(tool, {"name": "Ada"}) == "Hello Ada!"
    assert conversation.call(tool, ["Ada"]) == "Hello Ada!"


def test_calls_that_wait_are_answered_in_their_order(start: Host) -> None:
    conversation = start("greeter").converse()
    begun = [conversation.begin("call_number") for _ in range(50)]
    answered = [conversation.receive().result for _ in begun]
    assert [decode(result.value) for result in answered] == begun
    assert [result.call_id for result in answered] == begun


FAILURES: list[tuple[str, Any, pb.FailureKind, str, dict[str, Any]]] = [
    ("gret", None, pb.FAILURE_KIND_TOOL_NOT_FOUND, "did you mean 'greet'?", {}),
    (
        "greet",
        {"name": 1},
        pb.FAILURE_KIND_INVALID_ARGUMENTS,
        "$.name: expected str",
        {},
    ),
    ("greet", None, pb.FAILURE_KIND_INVALID_ARGUMENTS, "$.name: missing argument", {}),
    ("count", [1], pb.FAILURE_KIND_WRONG_SHAPE, "call it with stream()", {}),
    (
        "odd",
        None,
        pb.FAILURE_KIND_VALUE_NOT_TRANSFERABLE,
        "its result: $.a[0] has the type object",
        {},
    ),
    ("leave", None, pb.FAILURE_KIND_TOOL_FAILED, "SystemExit: gone", {}),
    ("leave_later", None, pb.FAILURE_KIND_TOOL_FAILED, "KeyboardInterrupt", {}),
    (
        "greet",
        ["Ada"],
        pb.FAILURE_KIND_WRONG_SHAPE,
        "call it with execute()",
        {"stream_credit": 1},
    ),
    (
        "greet",
        ["Ada"],
        pb.FAILURE_KIND_WRONG_SHAPE,
        "@tool(input=",
        {"has_input": True},
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "kind", "message", "options"), FAILURES)
def test_a_call_that_cannot_be_answered_fails_and_the_worker_lives(
    shared: Host,
    tool: str,
    arguments: Any,
    kind: pb.FailureKind,
    message: str,
    options: dict[str, Any],
) -> None:
    conversation = shared("greeter").converse()
    failure = conversation.failure(tool, arguments, **options)
    assert failure.kind == kind
    assert message in failure.message
    assert conversation.call("greet", ["Ada"]) == "Hello Ada!"


def test_arguments_that_cannot_be_decoded_fail_only_their_call(shared: Host) -> None:
    conversation = shared("greeter").converse()
    conversation.send(call=pb.Call(call_id=77, tool="greet", arguments=b"\xc1"))
    failure = conversation.terminal(77).failure
    assert failure.kind == pb.FAILURE_KIND_VALUE_NOT_TRANSFERABLE
    assert failure.message.startswith("its arguments: $ is not a value encoding")
    assert conversation.call("greet", ["Ada"]) == "Hello Ada!"


def test_a_result_over_the_limit_fails_and_the_stream_lives_on(shared: Host) -> None:
    conversation = shared("greeter", maxMessageBytes=100_000).converse()
    failure = conversation.failure("large", [100_000])
    assert failure.kind == pb.FAILURE_KIND_RESULT_TOO_LARGE
    assert "100005 bytes" in failure.message
    assert "maxMessageBytes" in failure.message
    assert len(conversation.call("large", [99_000])) == 99_000


def test_a_result_up_to_the_limit_crosses(shared: Host) -> None:
    limit = 50_000
    conversation = shared("greeter", maxMessageBytes=limit).converse()
    for size in range(limit - 80, limit - 60):
        frame = conversation.terminal(conversation.begin("large", [size]))
        assert frame.HasField("result") or frame.HasField("failure")


def test_frames_about_unknown_calls_are_ignored(shared: Host) -> None:
    conversation = shared("greeter").converse()
    conversation.cancel(99)
    conversation.send(credit=pb.Credit(call_id=99, chunks=1))
    conversation.send(input=pb.Input(call_id=99, value=b"\1"))
    conversation.send(input_end=pb.InputEnd(call_id=99))
    conversation.send(host_result=pb.HostResult(host_call_id=99, value=b"\1"))
    conversation.send(host_failure=pb.HostFailure(host_call_id=99))
    conversation.send(session_end=pb.SessionEnd(session_id="nobody"))
    conversation.send()
    assert conversation.call("greet", ["Ada"]) == "Hello Ada!"


TASKS = """
    import asyncio
    import gc
    import weakref
    from typing import Any
    from snakepit_bridge import on_startup, tool

    futures: list[Any] = []
    made: list[str] = []

    @on_startup
    async def start() -> None:
        def make(loop: Any, coroutine: Any, **options: Any) -> Any:
            # As an eager one: user code runs where the task is made.
            made.append(str(asyncio.current_task() is None and loop.is_running()))
            return asyncio.Task(coroutine, loop=loop, **options)

        if HAS_FACTORY:
            asyncio.get_running_loop().set_task_factory(make)

    @tool
    async def waits() -> str:
        future = asyncio.get_running_loop().create_future()
        futures.append(weakref.ref(future))
        await future
        return "kept"

    @tool
    async def releases() -> bool:
        gc.collect()
        future = futures.pop()()
        if future is not None:
            future.set_result(None)
        return future is not None

    @tool
    def makers() -> list[str]:
        return made
"""


@pytest.mark.parametrize("has_factory", [True, False])
def test_a_call_keeps_its_task_and_a_factory_makes_it_in_the_loop(
    start: Host, has_factory: bool
) -> None:
    tools = TASKS.replace("HAS_FACTORY", str(has_factory))
    conversation = start(tools, callsPerWorker=2).converse()
    for _ in range(3):
        waiting = conversation.begin("waits")
        assert conversation.call("releases") is True
        assert decode(conversation.terminal(waiting).result.value) == "kept"
    made = conversation.call("makers")
    assert set(made) == ({"True"} if has_factory else set())
