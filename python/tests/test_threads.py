"""Several calls at once in one worker: in threads, on the loop, and mixed."""

from __future__ import annotations

import queue
import sys
import threading
from typing import Any

import pytest
from conftest import Host
from support.calls_at_once import AT_ONCE, MEETING, answers
from support.effort import THOROUGH

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
from snakepit_bridge.calls.cancel.cancellation import CallCancelled, Cancellation
from snakepit_bridge.calls.cancel.thread_interrupt import InterruptibleThread
from snakepit_bridge.calls.cancel.trampoline import invoke
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

BOTH_TRANSPORTS_IN_CHECK = True


TOOLS = (
    MEETING
    + """
    import asyncio
    import os
    from collections.abc import AsyncIterator, Iterator

    reader, writer = os.pipe()

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
    def write(data: bytes) -> int:
        return os.write(writer, data)

    @tool
    def name_of_thread() -> str:
        return threading.current_thread().name

    @tool
    def thread_that_meets() -> str:
        arrive()
        return threading.current_thread().name
"""
)


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


def test_a_call_that_waits_in_c_blocks_no_other_call(start: Host) -> None:
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


def test_there_are_no_more_threads_than_calls(start: Host) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    names = set()
    for _ in range(5):
        calls = [conversation.begin("thread_that_meets") for _ in range(AT_ONCE)]
        names |= {name for (name,) in answers(conversation, calls).values()}
    assert names == {f"tool-{i}" for i in range(AT_ONCE)}


# -------- Several calls at once in one worker: what belongs to each of them, and to a session

APART = (
    MEETING
    + """
    import logging
    from typing import Any
    from snakepit_bridge import current_call

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

    @tool(input=int)
    def add_up() -> int:
        arrive()
        return sum(current_call().input)
"""
)


def test_each_call_has_its_own_context(start: Host) -> None:
    conversation = start(APART, callsPerWorker=AT_ONCE).converse()
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
    seen = sorted((log.call_id, log.logger, log.message, log.trace_id) for log in logs)
    assert seen == sorted(
        line
        for call_id, word in words.items()
        for line in (
            (call_id, "tool.describe", f"a word of {word}", word * 32),
            (call_id, "elsewhere", f"another of {word}", word * 32),
        )
    )


def test_calls_of_one_session_share_its_dictionary_at_once(start: Host) -> None:
    conversation = start(APART, callsPerWorker=AT_ONCE).converse()
    calls = [
        conversation.begin("share", [key], session_id="one") for key in range(AT_ONCE)
    ]
    found = answers(conversation, calls).values()
    assert list(found) == [[[0, 1, 2, 3]]] * AT_ONCE


def test_each_call_gets_the_hosts_answer_to_its_own_question(start: Host) -> None:
    conversation = start(APART, callsPerWorker=AT_ONCE).converse()
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
    conversation = start(APART, callsPerWorker=AT_ONCE).converse()
    calls = [conversation.begin("add_up", has_input=True) for _ in range(AT_ONCE)]
    for item in range(5):
        for call_id in calls:
            value = encode(call_id * 100 + item)
            conversation.send(input=pb.Input(call_id=call_id, value=value))
    for call_id in calls:
        conversation.send(input_end=pb.InputEnd(call_id=call_id))
    found = answers(conversation, calls)
    assert found == {call_id: [call_id * 500 + 10] for call_id in calls}


# -------- Several calls at once in one worker: a cancel ends the one that it means

CANCELLED = (
    MEETING
    + """
    import ctypes
    import os
    import time
    from collections.abc import Iterator
    from typing import Any
    from snakepit_bridge import current_call

    reader, writer = os.pipe()

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

    @tool(input=int)
    def waits_for_input() -> int:
        current_call().logger.info("begun")
        return sum(current_call().input)

    @tool
    def stays_in_c() -> int:
        # Reported from within C, so that a later cancel finds the tool there.
        os.set_inheritable(reader, True)
        command = f"echo in c >&2; exec head -c 1 /dev/fd/{reader} >/dev/null"
        return ctypes.CDLL(None).system(command.encode())

    @tool
    def write(data: bytes) -> int:
        return os.write(writer, data)

    @tool
    def starts_threads() -> None:
        current_call().logger.info("begun")
        while True:
            thread = threading.Thread(target=time.monotonic)
            thread.start()
            thread.join()

    @tool
    def name_of_thread() -> str:
        return threading.current_thread().name
"""
)


@pytest.mark.parametrize(
    "tool",
    ["is_busy", "asks", "streams", "waits_for_the_host", "waits_for_input"],
)
def test_a_cancel_ends_only_its_call(start: Host, tool: str) -> None:
    conversation = start(CANCELLED, callsPerWorker=AT_ONCE).converse()
    options: dict[str, Any] = {}
    if tool == "streams":
        options["stream_credit"] = 9
    if tool == "waits_for_input":
        options["has_input"] = True
    calls = [conversation.begin(tool, **options) for _ in range(AT_ONCE)]
    # Each reports when it has reached the place where it is to be cancelled.
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


POLLING = (
    MEETING
    + """
    import os
    import queue
    import time
    from concurrent.futures import Future, TimeoutError
    from snakepit_bridge import current_call

    box = queue.Queue()
    event = threading.Event()
    condition = threading.Condition()
    future = Future()

    @tool
    def an_empty_queue() -> None:
        current_call().logger.info("begun")
        while True:
            try:
                box.get(timeout=0.05)
            except queue.Empty:
                continue

    @tool
    def an_event() -> None:
        current_call().logger.info("begun")
        while not event.wait(0.05):
            pass

    @tool
    def a_condition() -> None:
        current_call().logger.info("begun")
        while True:
            with condition:
                condition.wait(0.05)

    @tool
    def a_future() -> None:
        current_call().logger.info("begun")
        while True:
            try:
                future.result(timeout=0.05)
            except TimeoutError:
                pass

    @tool
    def a_pause_in_an_except() -> None:
        current_call().logger.info("begun")
        while True:
            try:
                os.stat("/nonexistent")
            except FileNotFoundError:
                time.sleep(0.05)

    @tool
    def its_locks_are_free() -> bool:
        locks = [box.mutex, condition, event._cond]
        return all(lock.acquire(timeout=5) and not lock.release() for lock in locks)
"""
)


@pytest.mark.parametrize(
    "tool",
    ["an_empty_queue", "an_event", "a_condition", "a_future", "a_pause_in_an_except"],
)
def test_a_thread_that_polls_is_cancelled_and_holds_no_lock(
    start: Host, tool: str
) -> None:
    conversation = start(POLLING, callsPerWorker=AT_ONCE).converse()
    for _ in range(20 if THOROUGH else 3):
        call = conversation.begin(tool)
        assert conversation.logs.get(timeout=30).call_id == call
        conversation.cancel(call)
        failure = conversation.receive().failure
        assert (failure.call_id, failure.kind) == (call, pb.FAILURE_KIND_CANCELLED)
        assert conversation.call("its_locks_are_free") is True


def test_a_call_in_c_is_cancelled_when_it_comes_back_and_others_go_on(
    start: Host,
) -> None:
    worker = start(CANCELLED, callsPerWorker=AT_ONCE)
    conversation = worker.converse()
    reader = conversation.begin("stays_in_c")
    worker.wait_for_stderr("in c\n")
    other = conversation.begin("asks")
    conversation.cancel(reader)
    conversation.cancel(other)
    # Calls are cancelled in the order of their frames, so the one in C was, too.
    assert conversation.receive().failure.call_id == other
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


def test_a_cancel_never_ends_a_thread_that_the_tool_has_just_started(
    start: Host,
) -> None:
    # Until it runs, Python before 3.12 takes it for the thread that starts it, which
    # then waits for ever for one that was ended before its first line.
    conversation = start(CANCELLED, callsPerWorker=AT_ONCE).converse()
    for _ in range(100 if THOROUGH else 20):
        call = conversation.begin("starts_threads")
        # After half a minute, the worker warns of a host that sends no pings, too.
        while conversation.logs.get(timeout=30).call_id != call:
            pass
        conversation.cancel(call)
        failure = conversation.receive().failure
        assert (failure.call_id, failure.kind) == (call, pb.FAILURE_KIND_CANCELLED)


def test_a_thread_that_starts_another_is_interrupted_when_that_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cancellation = Cancellation()
    cancellation.request(CancelReason.CALLER)
    asked: queue.SimpleQueue[InterruptibleThread] = queue.SimpleQueue()
    answered: queue.SimpleQueue[None] = queue.SimpleQueue()
    begun: list[str] = []

    def interrupt() -> None:
        for _ in range(2):
            asked.get(timeout=30).interrupt()
            answered.put(None)

    other = threading.Thread(target=interrupt)
    other.start()
    itself = InterruptibleThread(cancellation)
    name = "_start_joinable_thread"
    if sys.version_info < (3, 13):
        name = "_start_new_thread"
    start_in_c = getattr(threading, name)

    def begin(*positional: Any, **keywords: Any) -> Any:
        asked.put(itself)
        answered.get(timeout=30)
        begun.append("begins")
        return start_in_c(*positional, **keywords)

    def tool() -> None:
        started = threading.Thread(target=begun.append, args=["runs"])
        started.start()
        started.join()
        asked.put(itself)
        answered.get(timeout=30)
        begun.append("goes on")

    monkeypatch.setattr(threading, name, begin)
    with pytest.raises(CallCancelled):
        invoke(tool)
    itself.disarm()
    other.join()
    assert begun == ["begins", "runs"]
