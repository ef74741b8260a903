"""Calls of functions that return, by packed frames: one after the other where there is
a page of calls, and each by itself where there is none."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import Host
from support.conversation import Conversation
from support.framed_conversation import FramedConversation
from support.packed_frames import packed_call

from snakepit_bridge.bridge.framed_transport.frame_parser import FRAME, framed
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.calls.cancel.cancellation import Cancellation
from snakepit_bridge.calls.context.call import Call
from snakepit_bridge.calls.run.running_call import RunningCall
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

MAX_MESSAGE_BYTES = 1 << 16
TOOLS = """
import contextvars
import sys
import threading
import time

from snakepit_bridge import current_call, tool

SEEN = contextvars.ContextVar("seen", default=0)

@tool
def add(a: int, b: int = 1) -> int:
    return a + b

@tool
def see() -> list:
    before = SEEN.get()
    SEEN.set(before + 1)
    call = current_call()
    in_main = threading.current_thread() is threading.main_thread()
    return [call.tool, call.call_id, before, in_main]

@tool
def fail(text: str) -> None:
    raise ValueError(text)

@tool
def leave() -> None:
    sys.exit(3)

@tool
def sleep() -> None:
    current_call().logger.warning("asleep")
    time.sleep(60)

@tool
def ask() -> int:
    return current_call().host("number")

@tool
def give(what: str):
    return {"pair": (1, 2), "bytes": b"x", "object": object(), "text": "x" * 70_000}[what]
"""


@pytest.fixture(params=["in turns", "without a page"])
def worker(request: pytest.FixtureRequest, start: Host, tmp_path: Path) -> Conversation:
    page = {"callPage": str(tmp_path / "page")} if request.param == "in turns" else {}
    host = start(
        TOOLS,
        transport="framed",
        maxMessageBytes=MAX_MESSAGE_BYTES,
        logLevel=20,
        **page,
    )
    return host.converse()


def test_arguments_come_by_position_and_by_name(worker: Conversation) -> None:
    assert worker.call("add", [2]) == 3
    assert worker.call("add", [2, 5]) == 7
    assert worker.call("add", {"b": 5, "a": 2}) == 7


def test_arguments_that_do_not_fit_begin_nothing(worker: Conversation) -> None:
    for arguments in ([], [1, 2, 3], ["1"], {"c": 1}):
        failure = worker.failure("add", arguments)
        assert failure.kind == pb.FAILURE_KIND_INVALID_ARGUMENTS
        assert not failure.began


def test_each_call_has_a_context_of_its_own(worker: Conversation) -> None:
    calls = [worker.begin("see") for _ in range(20)]
    for number in calls:
        result = worker.terminal(number).result
        assert decode(result.value) == ["see", number, 0, True]


def test_what_a_tool_raises_ends_its_call_only(worker: Conversation) -> None:
    calls = [worker.begin("fail", ["no"]), worker.begin("leave")]
    after = worker.begin("add", [1])
    errors = [worker.terminal(number).failure for number in calls]
    assert [(e.error.type, e.began) for e in errors] == [
        ("ValueError", True),
        ("SystemExit", True),
    ]
    assert decode(worker.terminal(after).result.value) == 2


def test_a_call_is_interrupted_and_those_behind_it_run(worker: Conversation) -> None:
    asleep = worker.begin("sleep")
    behind = [worker.begin("add", [i]) for i in range(3)]
    worker.logs.get(timeout=30)
    worker.cancel(behind[1])
    cancelled = worker.terminal(behind[1]).failure
    assert (cancelled.kind, cancelled.began) == (pb.FAILURE_KIND_CANCELLED, False)
    worker.cancel(asleep)
    interrupted = worker.terminal(asleep).failure
    assert (interrupted.kind, interrupted.began) == (pb.FAILURE_KIND_CANCELLED, True)
    for i in (0, 2):
        assert decode(worker.terminal(behind[i]).result.value) == i + 1


def test_what_a_call_asks_the_host_waits_for_no_answer_of_another(
    start: Host, tmp_path: Path
) -> None:
    page = str(tmp_path / "page")
    conversation = start(TOOLS, transport="framed", callPage=page).converse()
    assert isinstance(conversation, FramedConversation)
    calls = [packed_call(1, "see"), packed_call(2, "ask")]
    calls += [packed_call(number, "see") for number in (3, 4)]
    # At once, so that the last ones wait while the second one asks.
    conversation.connection.socket.sendall(
        b"".join(framed(FRAME, call) for call in calls)
    )
    assert conversation.receive().result.call_id == 1
    asked = conversation.receive().host_call
    assert (asked.call_id, asked.function) == (2, "number")
    answer = pb.HostResult(host_call_id=asked.host_call_id, value=encode(7))
    conversation.send(host_result=answer)
    results = [conversation.receive().result for _ in range(3)]
    assert [result.call_id for result in results] == [2, 3, 4]
    assert decode(results[0].value) == 7


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("object", pb.FAILURE_KIND_VALUE_NOT_TRANSFERABLE),
        ("text", pb.FAILURE_KIND_RESULT_TOO_LARGE),
    ],
)
def test_a_result_that_cannot_cross_fails(
    worker: Conversation, what: str, kind: Any
) -> None:
    failure = worker.failure("give", [what])
    assert failure.kind == kind
    assert failure.began
    assert worker.call("give", ["bytes"]) == b"x"
    assert worker.call("give", ["pair"]) == (1, 2)


def test_whoever_asks_first_all_find_the_same_call_and_cancellation() -> None:
    tool: Any = SimpleNamespace(name="add", is_async=False, is_usual=True)
    table: Any = None
    for number in range(200):
        running = RunningCall.of(number, tool, b"", table)
        together = threading.Barrier(4)
        found: list[tuple[Call, Cancellation]] = []

        def look(
            running: RunningCall = running,
            together: threading.Barrier = together,
            found: list[tuple[Call, Cancellation]] = found,
        ) -> None:
            together.wait(10)
            found.append((running.call, running.cancellation))

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {id(call) for call, _ in found} == {id(running.call)}
        assert {id(cancellation) for _, cancellation in found} == {
            id(running.call._cancellation)
        }
        assert (running.call.call_id, running.cancellation.by_signal) == (number, True)
