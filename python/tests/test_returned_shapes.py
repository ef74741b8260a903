"""What counts is what a call returns, and not what a decorator wraps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Host

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.values.decode import decode

BOTH_TRANSPORTS = True
TOOLS = (Path(__file__).parent / "support" / "decorated_tools.py").read_text()
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
    return shared(TOOLS, callsPerWorker=calls_per_worker).converse()


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
    worker = start(TOOLS, callsPerWorker=calls_per_worker)
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
    conversation = start(TOOLS, handles={"imports": [], "limit": 9}).converse()
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
