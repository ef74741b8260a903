"""Reports of progress: one is out at a time, and the newest is never lost."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Host
from support.conversation import Conversation

from snakepit_bridge import progress
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.testing import call_context
from snakepit_bridge.values.decode import decode

BOTH_TRANSPORTS = True

TOOLS = """
    import asyncio
    import contextvars
    import os
    import threading
    from collections.abc import AsyncIterator, Iterator
    from typing import Any
    from snakepit_bridge import Batch, current_call, progress, tool

    @tool
    def steps(count: int) -> str:
        for step in range(1, count + 1):
            progress(step / count, f"step {step}")
        return "done"

    @tool
    async def steps_async(count: int) -> str:
        return await asyncio.to_thread(steps, count)

    @tool
    def steps_in_a_thread(count: int) -> str:
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(steps, count))
        thread.start()
        thread.join()
        return "done"

    @tool
    def chunks(count: int) -> Iterator[int]:
        for step in range(count):
            progress(step / count)
            yield step

    @tool
    async def chunks_async(count: int) -> AsyncIterator[int]:
        for step in range(count):
            progress(step / count)
            yield step

    @tool
    def waits(count: int) -> str:
        steps(count)
        progress(1, current_call().host("message"))
        return "done"

    @tool
    def fails() -> None:
        progress(0.5)
        progress(0.6)
        raise RuntimeError("on purpose")

    @tool
    def odd(message: str) -> None:
        progress(None, message)

    @tool(batch=Batch(max=4))
    def together(items: list[int]) -> list[int]:
        progress(0.5, f"{len(items)} items")
        return items

    late: list[Any] = []

    @tool
    def leaves_a_thread() -> None:
        go = threading.Event()
        late.append(go)
        context = contextvars.copy_context()
        def report() -> None:
            go.wait()
            progress(1, "late")
            late.append("reported")
        thread = threading.Thread(target=context.run, args=(report,), daemon=True)
        late.append(thread)
        thread.start()

    @tool
    def let_it_report() -> bool:
        go, thread = late[:2]
        go.set()
        thread.join()
        return late[2] == "reported"

    @tool
    def forked() -> int:
        pid = os.fork()
        if pid == 0:
            progress(1, "of the copy")
            os._exit(0)
        return os.waitpid(pid, 0)[1]
"""


def _all(conversation: Conversation, call_id: int) -> list[Any]:
    """Returns what came of a call, its terminal frame last."""
    found: list[Any] = []
    while True:
        frame = conversation.receive()
        kind = frame.WhichOneof("frame")
        if kind == "progress":
            assert frame.progress.call_id == call_id
            found.append(_report(frame.progress))
        elif kind == "chunk":
            found.append(decode(frame.chunk.value))
        else:
            return [*found, kind]


def _report(report: pb.Progress) -> tuple[float | None, str]:
    fraction = report.fraction if report.HasField("fraction") else None
    return fraction, report.message


@pytest.mark.parametrize("tool", ["steps", "steps_async", "steps_in_a_thread"])
@pytest.mark.parametrize("calls_per_worker", [1, 4])
def test_the_first_report_and_the_last_arrive_before_the_result(
    shared: Host, tool: str, calls_per_worker: int
) -> None:
    conversation = shared(TOOLS, callsPerWorker=calls_per_worker).converse()
    call_id = conversation.begin(tool, [1000], wants_progress=True)
    assert _all(conversation, call_id) == [
        (0.001, "step 1"),
        (1.0, "step 1000"),
        "result",
    ]


@pytest.mark.parametrize("tool", ["chunks", "chunks_async"])
def test_a_stream_reports_its_progress(shared: Host, tool: str) -> None:
    conversation = shared(TOOLS).converse()
    call_id = conversation.begin(tool, [3], wants_progress=True, stream_credit=9)
    found = _all(conversation, call_id)
    assert found[:2] == [(0.0, ""), 0]
    assert found[-2:] == [(2 / 3, ""), "end"]
    assert [chunk for chunk in found if isinstance(chunk, int)] == [0, 1, 2]


def test_the_newest_report_follows_when_the_host_has_taken_one(shared: Host) -> None:
    conversation = shared(TOOLS).converse()
    call_id = conversation.begin("waits", [100], wants_progress=True)
    first = conversation.receive()
    assert _report(first.progress) == (0.01, "step 1")
    asked = conversation.receive()
    assert asked.HasField("host_call")
    taken = pb.ProgressCredit(call_id=call_id)
    conversation.send(progress_credit=taken)
    newest = conversation.receive()
    assert _report(newest.progress) == (1.0, "step 100")
    # Taken while there is no newer one: the next is sent at once.
    conversation.send(progress_credit=taken)
    answer = pb.HostResult(host_call_id=asked.host_call.host_call_id, value=b"\xa1!")
    conversation.send(host_result=answer)
    assert _all(conversation, call_id) == [(1.0, "!"), "result"]


def test_a_host_that_asks_for_none_gets_none(shared: Host) -> None:
    conversation = shared(TOOLS).converse()
    assert _all(conversation, conversation.begin("steps", [10])) == ["result"]


def test_a_call_that_fails_reports_before_its_failure(shared: Host) -> None:
    conversation = shared(TOOLS).converse()
    call_id = conversation.begin("fails", wants_progress=True)
    assert _all(conversation, call_id) == [(0.5, ""), (0.6, ""), "failure"]


def test_nothing_is_reported_after_the_end(start: Host) -> None:
    conversation = start(TOOLS).converse()
    call_id = conversation.begin("leaves_a_thread", wants_progress=True)
    assert _all(conversation, call_id) == ["result"]
    call_id = conversation.begin("let_it_report", wants_progress=True)
    assert _all(conversation, call_id) == ["result"]


def test_a_forked_copy_of_the_worker_reports_nothing(shared: Host) -> None:
    conversation = shared(TOOLS).converse()
    call_id = conversation.begin("forked", wants_progress=True)
    assert _all(conversation, call_id) == ["result"]


@pytest.mark.parametrize("calls_per_worker", [1, 4])
def test_a_batch_reports_to_the_caller_of_each_call(
    shared: Host, calls_per_worker: int
) -> None:
    conversation = shared(TOOLS, callsPerWorker=calls_per_worker).converse()
    call_id = conversation.begin("together", [7], wants_progress=True)
    assert _all(conversation, call_id) == [(0.5, "1 items"), "result"]


def test_messages_are_cut_and_cleaned(shared: Host) -> None:
    conversation = shared(TOOLS).converse()
    call_id = conversation.begin("odd", ["x" * 5000], wants_progress=True)
    assert _all(conversation, call_id)[0] == (None, "x" * 1000)


@pytest.mark.parametrize(
    ("fraction", "message", "error"),
    [
        (50, "", ValueError),
        (1.1, "", ValueError),
        (-0.5, "", ValueError),
        (float("nan"), "", ValueError),
        ("0.5", "", TypeError),
        ([], "", TypeError),
        (0.5, 3, TypeError),
    ],
)
def test_what_is_no_report_is_refused(
    fraction: Any, message: Any, error: type[Exception]
) -> None:
    with call_context() as call, pytest.raises(error):
        progress(fraction, message)
    assert call.reports == []


def test_a_call_of_a_test_notes_all_reports() -> None:
    with call_context() as call:
        progress(0, "begins")
        progress(1 + 1e-12)
        call.progress(None, "unknown")
    assert call.reports == [(0.0, "begins"), (1.0, ""), (None, "unknown")]


def test_without_a_call_a_report_does_nothing() -> None:
    progress(0.5, "nobody listens")
