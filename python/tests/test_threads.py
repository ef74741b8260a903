"""Several calls at once in one worker: in threads, on the loop, and mixed."""

from __future__ import annotations

import pytest
from conftest import Host
from support.calls_at_once import AT_ONCE, MEETING, answers

from snakepit_bridge.values.decode import decode

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


@pytest.mark.parametrize("tool", ["meet", "meet_later"])
def test_as_many_calls_run_at_once_as_the_host_configured(
    start: Host, tool: str
) -> None:
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
