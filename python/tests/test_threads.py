"""Several calls at once in one worker: in threads, on the loop, and mixed.

Calls meet at a barrier: it opens when all of them are under way at the same time,
and never otherwise.
"""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Host
from support.conversation import Conversation

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

BOTH_TRANSPORTS = True

AT_ONCE = 4

TOOLS = """
    import asyncio
    import ctypes
    import logging
    import os
    import threading
    import time
    from collections.abc import AsyncIterator, Iterator
    from typing import Any
    from snakepit_bridge import current_call, tool

    barrier = threading.Barrier(4)
    reader, writer = os.pipe()

    def arrive() -> int:
        return barrier.wait(30)

    @tool
    def meet() -> int:
        return arrive()

    @tool
    def meet_twice() -> Iterator[int]:
        yield arrive()
        yield arrive()

    @tool
    async def meet_later() -> int:
        return await asyncio.to_thread(arrive)

    @tool
    async def meet_twice_later() -> AsyncIterator[int]:
        yield await asyncio.to_thread(arrive)
        yield await asyncio.to_thread(arrive)

    @tool
    def read() -> bytes:
        return os.read(reader, 1)

    @tool
    def stays_in_c() -> int:
        # Told from within C: a cancel that comes after that finds it there.
        os.set_inheritable(reader, True)
        command = f"echo in c >&2; exec head -c 1 /dev/fd/{reader} >/dev/null"
        return ctypes.CDLL(None).system(command.encode())

    @tool
    def write(data: bytes) -> int:
        return os.write(writer, data)

    @tool
    def name_of_thread() -> str:
        return threading.current_thread().name

    @tool
    def thread_that_meets() -> str:
        arrive()
        return threading.current_thread().name

    @tool
    def describe(word: str) -> dict[str, Any]:
        call = current_call()
        arrive()
        assert current_call() is call
        assert call.session is not None
        call.session["word"] = word
        call.logger.info("a word of %s", word)
        logging.getLogger("elsewhere").info("another of %s", word)
        arrive()
        assert call.remaining is not None and call.remaining <= 60
        return {
            "id": current_call().call_id,
            "session": call.session,
            "trace": call.trace_context["traceparent"],
        }

    @tool
    def share(key: int) -> list[int]:
        session = current_call().session
        assert session is not None
        session[key] = None
        arrive()
        return sorted(session)

    @tool
    def ask(question: int) -> Any:
        return current_call().host("question", question)

    @tool(takes_input=int)
    def add_up() -> int:
        arrive()
        return sum(current_call().input)

    @tool
    def is_busy() -> None:
        current_call().logger.info("begun")
        while True:
            pass

    @tool
    def asks() -> None:
        current_call().logger.info("begun")
        while True:
            current_call().raise_if_cancelled()
            time.sleep(0.001)

    @tool
    def streams() -> Iterator[int]:
        yield 1
        current_call().logger.info("begun")
        while True:
            pass

    @tool
    def waits_for_the_host() -> Any:
        current_call().logger.info("begun")
        return current_call().host("never")

    @tool(takes_input=int)
    def waits_for_input() -> int:
        current_call().logger.info("begun")
        return sum(current_call().input)
"""


def answers(conversation: Conversation, calls: list[int]) -> dict[int, list[Any]]:
    """Returns what each call answered with, its chunks or its result, to its end."""
    found: dict[int, list[Any]] = {call_id: [] for call_id in calls}
    under_way = set(calls)
    while under_way:
        frame = conversation.receive()
        if frame.HasField("input_credit"):
            continue
        assert not frame.HasField("failure"), frame.failure
        kind = frame.WhichOneof("frame")
        assert kind in ("chunk", "result", "end"), frame
        message = getattr(frame, kind)
        if kind != "end":
            found[message.call_id].append(decode(message.value))
        if kind != "chunk":
            under_way.remove(message.call_id)
    return found


@pytest.mark.parametrize("tool", ["meet", "meet_later"])
def test_as_many_run_at_once_as_the_host_asked_for(start: Host, tool: str) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    for _ in range(3):
        calls = [conversation.begin(tool) for _ in range(AT_ONCE)]
        found = answers(conversation, calls).values()
        assert sorted(found) == [[0], [1], [2], [3]]


@pytest.mark.parametrize("tool", ["meet_twice", "meet_twice_later"])
def test_streams_run_at_once_too(start: Host, tool: str) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    calls = [conversation.begin(tool, stream_credit=9) for _ in range(AT_ONCE)]
    found = answers(conversation, calls).values()
    assert sorted(first for first, _ in found) == [0, 1, 2, 3]
    assert sorted(second for _, second in found) == [0, 1, 2, 3]


def test_functions_and_streams_synchronous_and_not_run_at_once(start: Host) -> None:
    conversation = start(TOOLS, callsPerWorker=6).converse()
    # Streams arrive twice, so there are twice as many functions.
    calls = [
        conversation.begin(tool, stream_credit=9)
        for tool in ("meet_twice", "meet_twice_later")
    ]
    calls += [conversation.begin(tool) for tool in ("meet", "meet_later") * 2]
    found = answers(conversation, calls).values()
    places = sorted(place for places in found for place in places)
    assert places == [0, 0, 1, 1, 2, 2, 3, 3]


def test_what_waits_in_c_keeps_no_other_call_from_running(start: Host) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    readers = [conversation.begin("read") for _ in range(AT_ONCE - 1)]
    ends = set()
    for _ in readers:
        write = conversation.begin("write", [b"x"])
        # The two in the order in which they are done.
        for _ in range(2):
            frame = conversation.receive()
            assert frame.HasField("result"), frame
            ends.add((frame.result.call_id, decode(frame.result.value)))
        assert (write, 1) in ends
    assert {(reader, b"x") for reader in readers} < ends


def test_a_worker_with_one_call_at_a_time_runs_it_in_the_main_thread(
    start: Host,
) -> None:
    assert start(TOOLS).converse().call("name_of_thread") == "MainThread"


def test_there_are_no_more_threads_than_calls(start: Host) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    names = set()
    for _ in range(5):
        calls = [conversation.begin("thread_that_meets") for _ in range(AT_ONCE)]
        names |= {name for (name,) in answers(conversation, calls).values()}
    assert names == {f"tool-{i}" for i in range(AT_ONCE)}


def test_each_call_has_its_own_context(start: Host) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    words = {
        conversation.begin(
            "describe",
            [word],
            session_id=word,
            timeout_ms=60_000,
            trace_context={"traceparent": f"00-{word * 32}-{word * 16}-01"},
        ): word
        for word in "abcd"
    }
    found = answers(conversation, list(words))
    for call_id, word in words.items():
        assert found[call_id] == [
            {
                "id": call_id,
                "session": {"word": word},
                "trace": f"00-{word * 32}-{word * 16}-01",
            }
        ]
    logs = [conversation.logs.get(timeout=30) for _ in range(2 * AT_ONCE)]
    told = sorted((log.call_id, log.logger, log.message, log.trace_id) for log in logs)
    assert told == sorted(
        line
        for call_id, word in words.items()
        for line in (
            (call_id, "tool.describe", f"a word of {word}", word * 32),
            (call_id, "elsewhere", f"another of {word}", word * 32),
        )
    )


def test_calls_of_one_session_share_its_dictionary_at_once(start: Host) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    calls = [
        conversation.begin("share", [key], session_id="one") for key in range(AT_ONCE)
    ]
    found = answers(conversation, calls).values()
    assert list(found) == [[[0, 1, 2, 3]]] * AT_ONCE


def test_each_call_gets_the_hosts_answer_to_its_own_question(start: Host) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    calls = [conversation.begin("ask", [number]) for number in range(AT_ONCE)]
    questions = [conversation.receive().host_call for _ in calls]
    assert sorted(question.call_id for question in questions) == calls
    for question in reversed(questions):
        value = encode([question.call_id, decode(question.argument)])
        result = pb.HostResult(host_call_id=question.host_call_id, value=value)
        conversation.send(host_result=result)
    found = answers(conversation, calls)
    assert found == {call_id: [[call_id, i]] for i, call_id in enumerate(calls)}


def test_each_call_reads_its_own_input(start: Host) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    calls = [conversation.begin("add_up", has_input=True) for _ in range(AT_ONCE)]
    for item in range(5):
        for call_id in calls:
            value = encode(call_id * 100 + item)
            conversation.send(input=pb.Input(call_id=call_id, value=value))
    for call_id in calls:
        conversation.send(input_end=pb.InputEnd(call_id=call_id))
    found = answers(conversation, calls)
    assert found == {call_id: [call_id * 500 + 10] for call_id in calls}


@pytest.mark.parametrize(
    "tool",
    ["is_busy", "asks", "streams", "waits_for_the_host", "waits_for_input"],
)
def test_a_cancel_ends_the_call_that_it_means_and_no_other(
    start: Host, tool: str
) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    options: dict[str, Any] = {}
    if tool == "streams":
        options["stream_credit"] = 9
    if tool == "waits_for_input":
        options["has_input"] = True
    calls = [conversation.begin(tool, **options) for _ in range(AT_ONCE)]
    # Each says when it is where it is to be cancelled.
    begun = {conversation.logs.get(timeout=30).call_id for _ in calls}
    assert begun == set(calls)
    reasons = [
        pb.CANCEL_REASON_CALLER,
        pb.CANCEL_REASON_DEADLINE,
        pb.CANCEL_REASON_SHUTDOWN,
        pb.CANCEL_REASON_DEADLINE,
    ]
    for index, reason in zip((2, 0, 3, 1), reasons, strict=True):
        conversation.cancel(calls[index], reason)
        while True:
            frame = conversation.receive()
            if frame.WhichOneof("frame") in ("failure", "result", "end"):
                break
        failure = frame.failure
        assert failure.call_id == calls[index], frame
        assert failure.kind == pb.FAILURE_KIND_CANCELLED
        assert failure.message.endswith(WORDS[reason])
    calls = [conversation.begin("meet") for _ in range(AT_ONCE)]
    assert sorted(answers(conversation, calls).values()) == [[0], [1], [2], [3]]


WORDS = {
    pb.CANCEL_REASON_CALLER: "the caller gave up",
    pb.CANCEL_REASON_DEADLINE: "its deadline passed",
    pb.CANCEL_REASON_SHUTDOWN: "the worker is leaving",
}


def test_a_call_in_c_is_cancelled_when_it_comes_back_and_others_go_on(
    start: Host,
) -> None:
    worker = start(TOOLS, callsPerWorker=AT_ONCE)
    conversation = worker.converse()
    reader = conversation.begin("stays_in_c")
    worker.wait_for_stderr("in c\n")
    conversation.cancel(reader)
    # It cannot be interrupted where it is. Meanwhile the worker works.
    assert conversation.call("name_of_thread").startswith("tool-")
    write = conversation.begin("write", [b"x"])
    frames = [conversation.receive() for _ in range(2)]
    ends = {
        getattr(frame, frame.WhichOneof("frame") or "").call_id: frame
        for frame in frames
    }
    assert decode(ends[write].result.value) == 1
    assert ends[reader].failure.kind == pb.FAILURE_KIND_CANCELLED
