"""Frames on their way to the loop that sends them over gRPC."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import cast
from unittest.mock import Mock

import pytest
from support.stepped_loop import DEADLINE_S, BridgeLoop

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.grpc_transport.messages import worker_message
from snakepit_bridge.bridge.grpc_transport.outbox import GrpcOutbox
from snakepit_bridge.bridge.grpc_transport.stepped_loop import SteppedLoop
from snakepit_bridge.frames import End, Log


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


# -------------------------------------- The loop that has no thread of its own


def test_call_now_steps_the_loop_until_it_would_wait(
    bridge: BridgeLoop,
) -> None:
    stepped = bridge.stepped
    seen: list[object] = []

    async def work() -> None:
        for step in range(3):
            await asyncio.sleep(0)
            seen.append((step, threading.get_ident()))
        await asyncio.Event().wait()

    with bridge.held_up():
        bridge.begin(work())
    here = threading.get_ident()
    assert seen == [(0, here), (1, here), (2, here)]
    assert asyncio._get_running_loop() is None
    assert stepped.loop.is_running() is False


def test_a_call_that_is_added_as_the_loop_stops_runs_with_what_it_schedules(
    bridge: BridgeLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped = bridge.stepped
    seen: list[str] = []
    stop = stepped.loop.stop

    def late() -> None:
        seen.append("late")
        stepped.loop.call_soon(lambda: seen.append("scheduled by it"))

    def stop_as_another_thread_adds_a_call() -> None:
        monkeypatch.setattr(stepped.loop, "stop", stop)
        stop()
        adding = threading.Thread(target=stepped.call_now, args=(late,))
        adding.start()
        adding.join()

    with bridge.held_up():
        monkeypatch.setattr(stepped.loop, "stop", stop_as_another_thread_adds_a_call)
        stepped.call_now(lambda: seen.append("first"))
        assert seen == ["first", "late", "scheduled by it"]


def test_call_soon_within_a_step_runs_the_callback_in_that_step(
    bridge: BridgeLoop,
) -> None:
    seen: list[str] = []

    def first() -> None:
        bridge.stepped.call_soon(lambda: seen.append("second"))
        seen.append("first")

    with bridge.held_up():
        bridge.stepped.call_now(first)
        assert seen == ["first", "second"]
    assert bridge.woken == 0


def test_a_callback_scheduled_by_a_signal_handler_at_the_end_of_a_step_is_run(
    bridge: BridgeLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    ready = asyncio.Event()
    loop = bridge.stepped.loop
    stop = loop.stop

    async def wait() -> None:
        await ready.wait()
        seen.append("woken")

    def interrupted_behind_it() -> None:
        stop()
        if not ready.is_set():
            # In the last steps of the turn.
            loop.call_soon(lambda: bridge.stepped.call_soon(ready.set))

    with bridge.held_up():
        bridge.begin(wait())
        monkeypatch.setattr(loop, "stop", interrupted_behind_it)
        bridge.stepped.step()
        assert seen == ["woken"]


@pytest.mark.parametrize("turns", ["turn", "call_now"])
def test_the_bridges_thread_finishes_an_interrupted_step(
    bridge: BridgeLoop, turns: str
) -> None:
    stepped = bridge.stepped
    threads: list[int] = []
    done = threading.Event()
    stepped.on_interrupted = Mock()

    def rest() -> None:
        threads.append(threading.get_ident())
        done.set()

    def interrupted() -> None:
        stepped.loop.call_soon(rest)
        raise KeyboardInterrupt

    with bridge.held_up(), pytest.raises(KeyboardInterrupt):
        if turns == "turn":
            stepped.loop.call_soon(interrupted)
            stepped.step()
        else:
            stepped.call_now(interrupted)
    assert done.wait(DEADLINE_S)
    assert threads == [bridge.ident]
    stepped.on_interrupted.assert_called_once_with()


def test_a_callback_left_to_an_interrupted_step_is_run(
    bridge: BridgeLoop,
) -> None:
    done = threading.Event()

    def interrupted() -> None:
        other = threading.Thread(target=bridge.stepped.call_now, args=(done.set,))
        other.start()
        other.join(DEADLINE_S)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bridge.stepped.call_now(interrupted)
    assert done.wait(DEADLINE_S)


class _StillLoop:
    """A bridge's loop whose time does not pass."""

    def __init__(self) -> None:
        self.timers: list[Mock] = []

    def call_soon_threadsafe(self, callback: Callable[[], object]) -> None:
        callback()

    def call_later(self, _delay: float, callback: Callable[[], object]) -> Mock:
        timer = Mock(when_due=callback)
        self.timers.append(timer)
        return timer

    @property
    def waiting(self) -> list[Mock]:
        return [timer for timer in self.timers if not timer.cancel.called]


def test_one_timer_of_the_bridges_loop_serves_all_timers() -> None:
    still = _StillLoop()
    stepped = SteppedLoop(cast(asyncio.AbstractEventLoop, still), Mock(is_shared=False))
    with contextlib.closing(stepped.loop):
        for seconds in (600, 300, 400, 200):
            stepped.loop.call_later(seconds, lambda: None)
            stepped.step()
        (waiting,) = still.waiting
        still.timers.clear()
        waiting.when_due()
        assert len(still.waiting) == 1


def test_the_loop_is_stepped_when_the_earliest_timer_is_due(
    bridge: BridgeLoop,
) -> None:
    over = threading.Event()

    async def work() -> None:
        await asyncio.sleep(0.02)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 0.01)
        over.set()

    bridge.begin(asyncio.sleep(600))
    bridge.begin(work())
    assert over.wait(DEADLINE_S)


def test_a_step_may_be_within_a_turn_of_another_loop(bridge: BridgeLoop) -> None:
    seen: list[object] = []

    async def inner() -> None:
        seen.append(asyncio.get_running_loop() is bridge.stepped.loop)

    async def scenario() -> None:
        outer = asyncio.get_running_loop()
        stepped = asyncio.Event()

        def turn() -> None:
            bridge.begin(inner())
            seen.append(asyncio.get_running_loop() is outer)
            stepped.set()

        # Between two callbacks, as a selector does.
        outer.call_soon(turn)
        await asyncio.wait_for(stepped.wait(), DEADLINE_S)

    asyncio.run(scenario())
    assert seen == [True, True]


def test_a_coroutine_can_be_awaited_on_another_loop(bridge: BridgeLoop) -> None:
    async def inner() -> int:
        await asyncio.sleep(0.01)
        return 7

    async def fails() -> None:
        raise ValueError("no")

    async def scenario() -> int:
        with pytest.raises(ValueError, match="no"):
            await bridge.stepped.run(fails())
        return await asyncio.wait_for(bridge.stepped.run(inner()), DEADLINE_S)

    assert asyncio.run(scenario()) == 7


def test_one_thread_at_a_time_steps_the_loop_and_every_callback_is_run(
    bridge: BridgeLoop,
) -> None:
    calls, threads = 2000, 4
    seen: list[int] = []
    inside = 0
    most = 0

    def call(number: int) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        seen.append(number)
        inside -= 1

    def work(first: int) -> None:
        for number in range(first, first + calls):
            bridge.stepped.call_now(functools.partial(call, number))

    workers = [
        threading.Thread(target=work, args=(index * calls,)) for index in range(threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(DEADLINE_S)
    with bridge.stepped.stepping:
        assert sorted(seen) == list(range(calls * threads))
    assert most == 1
