"""Frames on their way to the loop that sends them over gRPC."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from unittest.mock import Mock

import pytest

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.grpc_transport.outbox import GrpcOutbox
from snakepit_bridge.bridge.transport import MAX_HELD


def frame(number: int) -> pb.WorkerFrame:
    return pb.WorkerFrame(end=pb.End(call_id=number))


def numbers(message: bytes) -> list[int]:
    parsed = pb.WorkerFrame.FromString(message)
    if parsed.HasField("batch"):
        return [inner.end.call_id for inner in parsed.batch.frames]
    return [parsed.end.call_id]


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


@pytest.fixture
def wake(loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch) -> Mock:
    """Counts how often the loop is woken."""
    wake = Mock(wraps=loop.call_soon_threadsafe)
    monkeypatch.setattr(loop, "call_soon_threadsafe", wake)
    return wake


@pytest.fixture
def outbox(loop: asyncio.AbstractEventLoop) -> GrpcOutbox:
    made = GrpcOutbox()
    made.attach(loop, 1 << 20)
    return made


def in_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_a_loop_that_is_awake_is_not_woken_again(
    loop: asyncio.AbstractEventLoop, outbox: GrpcOutbox, wake: Mock
) -> None:
    async def scenario() -> None:
        waiting = loop.create_task(outbox.take())
        await asyncio.sleep(0)
        in_thread(lambda: outbox.put(frame(1)))
        assert numbers(await waiting or b"") == [1]
        woken = wake.call_count

        def put_many() -> None:
            for number in range(2, 50):
                outbox.put(frame(number))

        in_thread(put_many)
        put_many()
        for number in range(2, 50):
            outbox.put_last(frame(number))
        outbox.flush()
        assert wake.call_count == woken
        assert numbers(await outbox.take() or b"") == [*range(2, 50)] * 3

    loop.run_until_complete(scenario())


def test_the_main_thread_wakes_the_loop_once_for_all_that_it_adds(
    loop: asyncio.AbstractEventLoop, outbox: GrpcOutbox, wake: Mock
) -> None:
    for number in range(10):
        outbox.put(frame(number))
    for number in range(10, 20):
        outbox.put_last(frame(number))
    assert wake.call_count == 1
    message = loop.run_until_complete(outbox.take())
    assert numbers(message or b"") == [*range(20)]


def test_what_the_main_thread_holds_back_wakes_nobody_until_it_is_flushed(
    loop: asyncio.AbstractEventLoop, outbox: GrpcOutbox, wake: Mock
) -> None:
    outbox.held = True
    outbox.put(frame(1))
    outbox.put_last(frame(2))
    assert wake.call_count == 0
    outbox.flush()
    outbox.flush()
    assert wake.call_count == 1
    message = loop.run_until_complete(outbox.take())
    assert numbers(message or b"") == [1, 2]


def test_the_main_thread_does_not_hold_back_more_than_the_host_can_begin_with(
    outbox: GrpcOutbox, wake: Mock
) -> None:
    outbox.held = True
    for number in range(MAX_HELD - 1):
        outbox.put_last(frame(number))
    assert wake.call_count == 0
    outbox.put_last(frame(MAX_HELD))
    assert wake.call_count == 1


def test_another_thread_does_not_wait_for_what_the_main_thread_holds_back(
    outbox: GrpcOutbox, wake: Mock
) -> None:
    outbox.held = True
    in_thread(lambda: outbox.put(frame(1)))
    assert wake.call_count == 1
    in_thread(lambda: outbox.put_last(frame(2)))
    assert wake.call_count == 2


def test_a_frame_that_is_put_first_leaves_before_those_that_wait(
    loop: asyncio.AbstractEventLoop, outbox: GrpcOutbox
) -> None:
    for number in range(3):
        outbox.put(frame(number))
    outbox.put_first(frame(7))
    message = loop.run_until_complete(outbox.take())
    assert numbers(message or b"") == [7, 0, 1, 2]


def test_no_frame_is_left_lying_whenever_it_comes(
    loop: asyncio.AbstractEventLoop, outbox: GrpcOutbox
) -> None:
    count, threads = 5000, 3
    turn = threading.Semaphore(0)

    def put() -> None:
        for number in range(count):
            # Mostly one at a time: the taker goes to wait while the next one comes.
            turn.acquire(timeout=0.0001)
            outbox.put(frame(number))

    async def scenario() -> int:
        putters = [threading.Thread(target=put) for _ in range(threads)]
        for putter in putters:
            putter.start()
        taken = 0
        while taken < count * threads:
            message = await asyncio.wait_for(outbox.take(), 20)
            assert message is not None
            taken += len(numbers(message))
            turn.release()
        for putter in putters:
            putter.join()
        return taken

    assert loop.run_until_complete(scenario()) == count * threads
