"""Frames on their way to the loop that sends them over gRPC."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator
from unittest.mock import Mock

import pytest
from support.stepped_loop import BridgeLoop

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.grpc_transport.messages import worker_message
from snakepit_bridge.bridge.grpc_transport.outbox import GrpcOutbox
from snakepit_bridge.frames import End, Log

DEADLINE_S = 20


def frame(number: int) -> End:
    return End(number)


def numbers(message: bytes) -> list[int]:
    parsed = pb.WorkerFrame.FromString(message)
    if parsed.HasField("batch"):
        return [
            pb.WorkerFrame.FromString(inner).end.call_id
            for inner in parsed.batch.frames
        ]
    return [parsed.end.call_id]


class Sender:
    """Takes from an outbox as the conversation does, and remembers each message."""

    def __init__(self, outbox: GrpcOutbox) -> None:
        self.sent: list[list[int]] = []
        self.threads: list[int] = []
        self._outbox = outbox
        self._changed = threading.Condition()

    async def send(self) -> None:
        while (message := await self._outbox.take()) is not None:
            with self._changed:
                self.sent.append(numbers(message))
                self.threads.append(threading.get_ident())
                self._changed.notify_all()

    def wait_for(self, frames: int) -> list[list[int]]:
        """Returns the messages once they have so many frames."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: sum(map(len, self.sent)) >= frames, DEADLINE_S
            )
            return self.sent


@pytest.fixture
def bridge() -> Iterator[BridgeLoop]:
    with contextlib.closing(BridgeLoop()) as made:
        yield made


@pytest.fixture
def outbox(bridge: BridgeLoop) -> GrpcOutbox:
    made = GrpcOutbox()
    made.attach(bridge.stepped, 1 << 20)
    return made


@pytest.fixture
def sender(bridge: BridgeLoop, outbox: GrpcOutbox) -> Sender:
    made = Sender(outbox)
    bridge.begin(made.send())
    return made


def in_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_the_main_thread_sends_terminal_frames_itself(
    bridge: BridgeLoop, outbox: GrpcOutbox, sender: Sender
) -> None:
    with bridge.held_up():
        outbox.put_last(frame(1))
        assert sender.sent == [[1]]
        outbox.put_last(frame(2))
        assert sender.sent == [[1], [2]]
    assert set(sender.threads) == {threading.get_ident()}
    assert bridge.woken == 0


def test_within_a_loop_of_the_main_thread_the_bridges_thread_sends(
    bridge: BridgeLoop, outbox: GrpcOutbox, sender: Sender
) -> None:
    async def scenario() -> None:
        with bridge.held_up():
            outbox.put_last(frame(1))
            assert sender.sent == []
        assert sender.wait_for(1) == [[1]]

    asyncio.run(scenario())
    assert threading.get_ident() not in sender.threads


def test_the_main_thread_wakes_the_bridges_thread_once_for_all_frames_of_a_tool(
    bridge: BridgeLoop, outbox: GrpcOutbox, sender: Sender
) -> None:
    with bridge.held_up():
        for number in range(10):
            outbox.put(frame(number))
        assert sender.sent == []
        assert bridge.woken == 1
    assert sender.wait_for(10) == [[*range(10)]]


def test_a_tool_that_is_interrupted_as_it_sends_sends_what_it_adds_later(
    bridge: BridgeLoop,
    outbox: GrpcOutbox,
    sender: Sender,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Interrupted(BaseException):
        pass

    with monkeypatch.context() as patch:
        # As by the handler of a tool's own alarm.
        patch.setattr(bridge.stepped, "call_soon", Mock(side_effect=Interrupted))
        with pytest.raises(Interrupted):
            outbox.put(frame(1))
    outbox.put(frame(2))
    assert sender.wait_for(2) == [[1, 2]]


def test_a_loop_that_is_awake_is_not_woken_again(
    bridge: BridgeLoop, outbox: GrpcOutbox, sender: Sender
) -> None:
    def put_many() -> None:
        for number in range(2, 50):
            outbox.put(frame(number))

    async def scenario() -> None:
        outbox.put(frame(1))
        # Its task has not had its turn: it is to look at them all.
        await asyncio.sleep(0)
        woken = bridge.woken
        in_thread(put_many)
        assert bridge.woken == woken

    bridge.run(scenario())
    assert sender.wait_for(49) == [[1, *range(2, 50)]]


def test_frames_that_the_main_thread_holds_back_wake_no_thread_until_flushed(
    bridge: BridgeLoop, outbox: GrpcOutbox, sender: Sender
) -> None:
    with bridge.held_up():
        outbox.held = True
        outbox.put(frame(1))
        outbox.put_last(frame(2))
        assert sender.sent == []
        outbox.flush()
        assert sender.sent == [[1, 2]]
        outbox.flush()
    assert bridge.woken == 0


def test_frames_of_another_thread_are_not_held_back_by_the_main_thread(
    outbox: GrpcOutbox, sender: Sender
) -> None:
    outbox.held = True
    in_thread(lambda: outbox.put(frame(1)))
    assert sender.wait_for(1) == [[1]]
    in_thread(lambda: outbox.put_last(frame(2)))
    assert sender.wait_for(2) == [[1], [2]]


def test_a_frame_that_is_put_first_leaves_before_those_that_wait(
    bridge: BridgeLoop, outbox: GrpcOutbox, sender: Sender
) -> None:
    async def scenario() -> None:
        for number in range(3):
            outbox.put(frame(number))
        outbox.put_first(worker_message(frame(7)))

    bridge.run(scenario())
    assert sender.wait_for(4) == [[7, 0, 1, 2]]


class _Frames(deque[pb.WorkerFrame]):
    """Gets one more frame as soon as it was found empty a number of times."""

    def __init__(self, looks: int, arrives: Callable[[], None]) -> None:
        super().__init__()
        self._looks = looks
        self._arrives = arrives

    def __bool__(self) -> bool:
        seen = len(self) > 0
        self._looks -= 1
        if self._looks == 0:
            self._arrives()
        return seen


@pytest.mark.parametrize("looks", [1, 2])
def test_a_frame_that_comes_just_after_a_check_is_seen(
    bridge: BridgeLoop,
    outbox: GrpcOutbox,
    monkeypatch: pytest.MonkeyPatch,
    looks: int,
) -> None:
    # As after a message that was sent: it is to look before it waits.
    outbox._filled.set()
    frames = _Frames(looks, lambda: outbox.put(frame(1)))
    monkeypatch.setattr(outbox, "_frames", frames)
    sender = Sender(outbox)
    bridge.begin(sender.send())
    assert sender.wait_for(1) == [[1]]


def test_every_frame_is_sent_whenever_and_wherever_it_is_put(
    outbox: GrpcOutbox, sender: Sender
) -> None:
    count, threads = 3000, 3
    turn = threading.Semaphore(0)

    def put() -> None:
        for number in range(count):
            # Mostly one at a time: the sender goes to wait while the next one comes.
            turn.acquire(timeout=0.0001)
            outbox.put(frame(number))

    putters = [threading.Thread(target=put) for _ in range(threads)]
    for putter in putters:
        putter.start()
    for number in range(count):
        outbox.put_last(frame(number))
        turn.release()
        turn.release()
    for putter in putters:
        putter.join()
    sender.wait_for(count * (threads + 1))


def test_frames_added_after_the_first_ones_were_sent_are_sent_too(
    bridge: BridgeLoop, outbox: GrpcOutbox, sender: Sender
) -> None:
    for number in range(1, 4):
        outbox.put(frame(number))
        assert sender.wait_for(number) == [[each] for each in range(1, number + 1)]
        with bridge.stepped.stepping:
            # The task waits again.
            pass


def test_a_record_waits_until_its_write_is_over() -> None:
    async def scenario() -> None:
        outbox = GrpcOutbox()
        outbox.put_log(Log(0, "", 20, "one", 0))
        await outbox.take()
        assert outbox.logs_waiting == 1
        outbox.put(frame(1))
        await outbox.take()
        assert outbox.logs_waiting == 0

    asyncio.run(scenario())
