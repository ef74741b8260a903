"""Calls that a tool runs together: each has its own answer or error, and its own session."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Host
from support.batches import AT_ONCE, KINDS, WRAPPED, fresh, gathered, settled

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb

BOTH_TRANSPORTS_IN_CHECK = True


@KINDS
def test_calls_that_came_during_a_batch_are_the_next_ones(
    shared: Host, tool: str
) -> None:
    conversation = fresh(shared)
    found = gathered(conversation, tool, ["a", "b", "c", "d", "e", "f"])
    assert list(found.values()) == ["a", "b", "c", "d", "e", "f"]
    assert conversation.call("found_sizes") == [1, 4, 2]


@KINDS
def test_arguments_may_be_given_by_name(shared: Host, tool: str) -> None:
    conversation = fresh(shared)
    assert conversation.call(tool, {"items": "a"}) == "a"


@KINDS
@pytest.mark.parametrize("calls_per_worker", [1, AT_ONCE])
def test_one_call_alone_is_a_batch_of_one(
    shared: Host, tool: str, calls_per_worker: int
) -> None:
    conversation = fresh(shared, calls_per_worker)
    assert conversation.call(tool, ["a"]) == "a"
    assert conversation.failure(tool, ["error"]).error.type == "KeyError"
    assert conversation.failure(tool, ["raises"]).error.type == "ValueError"
    short = conversation.failure(tool, ["short"])
    assert "1 calls returned 0 answers" in short.message
    assert conversation.call("found_sizes") == [1, 1, 1, 1]


@WRAPPED
@pytest.mark.parametrize("calls_per_worker", [1, AT_ONCE])
def test_what_counts_of_a_wrapper_is_what_its_call_returns(
    shared: Host, tool: str, calls_per_worker: int
) -> None:
    conversation = fresh(shared, calls_per_worker)
    assert conversation.call(tool, ["a"]) == "a"
    assert conversation.failure(tool, ["error"]).error.type == "KeyError"
    assert conversation.failure(tool, ["raises"]).error.type == "ValueError"
    assert conversation.call("found_sizes") == [1, 1, 1]


@WRAPPED
def test_calls_of_a_wrapped_batch_run_together(shared: Host, tool: str) -> None:
    conversation = fresh(shared)
    found = gathered(conversation, tool, ["a", "b", "c", "d", "e", "f"])
    assert list(found.values()) == ["a", "b", "c", "d", "e", "f"]
    assert conversation.call("found_sizes") == [1, 4, 2]


@KINDS
def test_an_exception_in_the_list_is_the_error_of_its_caller(
    shared: Host, tool: str
) -> None:
    conversation = fresh(shared)
    a, error, b = gathered(conversation, tool, ["a", "error", "b"]).values()
    assert (a, b) == ("a", "b")
    assert error.kind == pb.FAILURE_KIND_TOOL_FAILED
    assert (error.error.type, error.began) == ("KeyError", True)


@KINDS
def test_arguments_that_do_not_fit_are_the_error_of_their_caller(
    shared: Host, tool: str
) -> None:
    conversation = fresh(shared)
    wrong: Any = 7
    a, error, b = gathered(conversation, tool, ["a", wrong, "b"]).values()
    assert (a, b) == ("a", "b")
    assert error.kind == pb.FAILURE_KIND_INVALID_ARGUMENTS
    assert (error.path, error.began) == ("$.items", False)
    assert conversation.call("found_sizes") == [1, 2]


@KINDS
def test_a_batch_in_which_no_arguments_fit_does_not_run(
    shared: Host, tool: str
) -> None:
    conversation = fresh(shared)
    wrong: Any = 7
    for _ in range(2):
        failure = conversation.failure(tool, [wrong])
        assert failure.kind == pb.FAILURE_KIND_INVALID_ARGUMENTS
    assert conversation.call(tool, ["a"]) == "a"
    assert conversation.call("found_sizes") == [1]


@KINDS
@pytest.mark.parametrize(
    ("item", "kind", "says"),
    [
        ("raises", "ValueError", "for all"),
        ("short", "BatchResultInvalid", "3 calls returned 2 answers"),
        ("invalid", "BatchResultInvalid", "3 calls returned str"),
    ],
)
def test_what_a_batch_raises_or_returns_wrongly_is_the_error_of_every_caller(
    shared: Host, tool: str, item: str, kind: str, says: str
) -> None:
    conversation = fresh(shared)
    for failure in gathered(conversation, tool, ["a", item, "b"]).values():
        assert failure.kind == pb.FAILURE_KIND_TOOL_FAILED
        assert failure.error.type.endswith(kind)
        assert says in failure.message


def test_each_call_keeps_its_session(shared: Host) -> None:
    conversation = fresh(shared)
    first = conversation.begin("sessions", ["block"], session_id="s")
    assert conversation.logs.get(timeout=30).message == "blocks"
    calls = [
        conversation.begin("sessions", ["a"], **({"session_id": name} if name else {}))
        for name in ("s", "", "t")
    ]
    conversation.begin("release")
    found = settled(conversation, [first, *calls])
    assert [found[call] for call in (first, *calls)] == [1, 2, None, 1]


def test_a_method_of_a_toolset_runs_calls_together(shared: Host) -> None:
    conversation = fresh(shared)
    first = conversation.begin("passes", ["block"])
    assert conversation.logs.get(timeout=30).message == "blocks"
    calls = [conversation.begin("passes", [item]) for item in "ab"]
    conversation.begin("release")
    found = settled(conversation, [first, *calls])
    before = found[first]
    assert [found[call] for call in calls] == [before + 1, before + 1]


@pytest.mark.parametrize("calls_per_worker", [1, AT_ONCE])
def test_each_call_may_ask_the_host(shared: Host, calls_per_worker: int) -> None:
    conversation = fresh(shared, calls_per_worker)
    call = conversation.begin("asks", ["a"])
    host_call = conversation.receive().host_call
    assert (host_call.call_id, host_call.function) == (call, "name")
    answer = pb.HostResult(
        host_call_id=host_call.host_call_id, value=host_call.argument
    )
    conversation.send(host_result=answer)
    assert settled(conversation, [call]) == {call: "a"}
    refused = conversation.failure("asks_for_all", ["a"])
    assert "use one of current_batch()" in refused.message


def test_a_worker_of_one_call_says_that_nothing_gathers(start: Host) -> None:
    source = """
        from snakepit_bridge import Batch, tool

        @tool(batch=Batch(max=8))
        def embed(texts: list[str]) -> list[int]:
            return [len(text) for text in texts]
    """
    conversation = start(source).converse()
    warning = conversation.logs.get(timeout=30)
    assert "embed could run up to 8 calls together" in warning.message
    assert "callsPerWorker of the pool to 8" in warning.message
