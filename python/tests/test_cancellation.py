"""Cancellation that reaches the code, wherever it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Host

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb

BOTH_TRANSPORTS = True

# Every one of these would take ten minutes: the test proves that a cancel does not wait
# for the tool.
IN_THE_MAIN_THREAD = [
    "sleeps",
    "is_busy",
    "waits_for_a_lock",
    "waits_for_a_queue",
    "reads_a_socket",
    "waits_for_a_process",
    "sleeps_before_a_try",
    "waits_for_an_event",
    "waits_for_a_thread",
    "waits_for_a_future",
    "runs_a_loop_of_its_own",
    "swallows_the_first",
]
ON_THE_LOOP = ["sleeps_in_asyncio", "blocks_the_loop", "waits_in_a_thread"]
STREAMS = ["is_stuck_between_yields", "is_stuck_between_awaits"]


# With more than one call a worker, Python code in a thread is all that can be
# interrupted there.
@pytest.mark.parametrize(
    ("tool", "calls_per_worker"),
    [
        *((tool, 1) for tool in IN_THE_MAIN_THREAD + ON_THE_LOOP + STREAMS),
        *((tool, 3) for tool in ["is_busy", *ON_THE_LOOP, "is_stuck_between_awaits"]),
    ],
)
def test_a_stuck_tool_is_interrupted_and_the_worker_goes_on(
    shared: Host, tool: str, calls_per_worker: int
) -> None:
    worker = shared("stuck", callsPerWorker=calls_per_worker)
    conversation = worker.converse()
    for _ in range(3):
        options = {"stream_credit": 5} if tool in STREAMS else {}
        call_id = conversation.begin(tool, **options)
        worker.wait_for_stderr(f"begun {call_id}\n")
        conversation.cancel(call_id)
        failure = conversation.terminal(call_id).failure
        assert failure.kind == pb.FAILURE_KIND_CANCELLED
        assert failure.began
    assert conversation.call("ping") == "pong"


@pytest.mark.parametrize(
    ("tool", "trace"),
    [("cleans_up_for_a_while", "sync"), ("cleans_up_in_asyncio", "async")],
)
def test_clean_up_is_not_disturbed(shared: Host, tool: str, trace: str) -> None:
    worker = shared("stuck")
    conversation = worker.converse()
    call_id = conversation.begin(tool)
    worker.wait_for_stderr(f"begun {call_id}\n")
    conversation.cancel(call_id)
    conversation.cancel(call_id)
    conversation.terminal(call_id)
    assert conversation.call("cleaned_up") == [trace]


@pytest.mark.parametrize("what", ["enter", "exit", "del", "back"])
def test_what_enters_exits_or_finalizes_is_never_interrupted(
    shared: Host, what: str
) -> None:
    worker = shared("stuck")
    conversation = worker.converse()
    if what == "back":
        call_id = conversation.begin("is_called_back")
    else:
        call_id = conversation.begin("is_used", [what])
    worker.wait_for_stderr(f"begun {call_id}\n")
    conversation.cancel(call_id)
    failure = conversation.terminal(call_id).failure
    assert failure.kind == pb.FAILURE_KIND_CANCELLED
    assert conversation.call("cleaned_up") == [what]


def test_an_import_is_never_interrupted(shared: Host, tmp_path: Path) -> None:
    """Extension modules cannot be imported again in a process."""
    (tmp_path / "slow_to_import.py").write_text(
        "import sys, time\n"
        "sys.stderr.write('importing\\n')\n"
        "time.sleep(0.5)\n"
        "end = 'whole'\n"
    )
    worker = shared("stuck")
    conversation = worker.converse()
    call_id = conversation.begin("imports", [str(tmp_path)])
    worker.wait_for_stderr("importing\n")
    conversation.cancel(call_id)
    failure = conversation.terminal(call_id).failure
    assert failure.kind == pb.FAILURE_KIND_CANCELLED
    assert conversation.call("imported") == "whole"


def test_an_error_of_a_cancelled_tool_is_reported_as_its_cancellation(
    shared: Host,
) -> None:
    worker = shared("stuck")
    conversation = worker.converse()
    call_id = conversation.begin("turns_it_into_an_error")
    worker.wait_for_stderr(f"begun {call_id}\n")
    conversation.cancel(call_id)
    failure = conversation.terminal(call_id).failure
    assert failure.kind == pb.FAILURE_KIND_CANCELLED
    assert failure.error.type == "ValueError"
    assert failure.error.cause.type == "snakepit_bridge.CallCancelled"


def test_a_tool_that_returns_nevertheless_has_a_result(shared: Host) -> None:
    worker = shared("stuck")
    conversation = worker.converse()
    call_id = conversation.begin("returns_nevertheless")
    worker.wait_for_stderr(f"begun {call_id}\n")
    conversation.cancel(call_id)
    assert conversation.terminal(call_id).result.value == b"\xaewhat there was"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (pb.CANCEL_REASON_CALLER, "the caller gave up"),
        (pb.CANCEL_REASON_DEADLINE, "its deadline passed"),
        (pb.CANCEL_REASON_SHUTDOWN, "the worker is leaving"),
    ],
)
@pytest.mark.parametrize(
    ("tool", "calls_per_worker"),
    [("says_why", 1), ("says_why_it_is_not_busy", 1), ("says_why_it_is_not_busy", 2)],
)
def test_the_reason_reaches_the_tool_and_comes_back(
    shared: Host,
    tool: str,
    calls_per_worker: int,
    reason: pb.CancelReason,
    words: str,
) -> None:
    worker = shared("stuck", callsPerWorker=calls_per_worker)
    conversation = worker.converse()
    call_id = conversation.begin(tool)
    worker.wait_for_stderr(f"begun {call_id}\n")
    conversation.cancel(call_id, reason)
    failure = conversation.terminal(call_id).failure
    assert failure.message == f"the call was cancelled: {words}"
    assert failure.error.message == failure.message
    assert failure.error.type == "snakepit_bridge.CallCancelled"
