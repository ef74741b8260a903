"""The main thread: when it holds answers back, and what interrupts it."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast
from unittest.mock import Mock

import grpc
import pytest
from conftest import Host

from snakepit_bridge.threads.main_thread import (
    FIRST_CHORE_S,
    PAUSE,
    PUT_OFF_S,
    MainThread,
    _Chores,
)
from snakepit_bridge.threads.write_coalescer import MOST_HELD_NS, WriteCoalescer

BOTH_TRANSPORTS_IN_CHECK = True


DEADLINE_S = 30


class Outbox:
    """Sends to a list."""

    def __init__(self) -> None:
        self.held = False
        self.sent: list[int] = []
        self.has_sent = threading.Event()
        self._waiting: list[int] = []

    def put(self, frame: int) -> None:
        self._waiting.append(frame)
        if not self.held:
            self.flush()

    def flush(self) -> None:
        self.sent += self._waiting
        self._waiting.clear()
        if self.sent:
            self.has_sent.set()


def begun() -> tuple[MainThread, Outbox]:
    """Returns a main thread with many calls, which no other thread watches."""
    outbox = Outbox()
    main = MainThread()
    main.coalescer.begin(outbox, closed_loop(), lambda: True)
    return main, outbox


def closed_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.close()
    return loop


def run(main: MainThread) -> None:
    """Runs until it is stopped."""
    too_late = threading.Timer(DEADLINE_S, main.stop)
    too_late.start()
    main.run()
    too_late.cancel()
    main.close()


def run_until_sent(main: MainThread, outbox: Outbox) -> None:
    """Runs until something is sent."""

    def stop() -> None:
        outbox.has_sent.wait(DEADLINE_S)
        main.stop()

    stopper = threading.Thread(target=stop)
    stopper.start()
    main.run()
    stopper.join()
    main.close()


def test_the_answers_of_a_turn_leave_together() -> None:
    main, outbox = begun()
    seen: list[list[int]] = []

    def answer(frame: int) -> None:
        outbox.put(frame)
        seen.append(list(outbox.sent))

    main.loop.call_soon(lambda: answer(1))
    main.loop.call_soon(lambda: answer(2))
    run_until_sent(main, outbox)
    assert seen == [[], []]
    assert outbox.sent == [1, 2]


def test_answers_leave_before_the_loop_waits() -> None:
    main, outbox = begun()
    sent_in_time: list[bool] = []

    def answer() -> None:
        outbox.put(1)
        main.loop.call_later(10 * DEADLINE_S, lambda: None)

    def stop() -> None:
        sent_in_time.append(outbox.has_sent.wait(DEADLINE_S))
        main.stop()

    stopper = threading.Thread(target=stop)
    stopper.start()
    main.loop.call_soon(answer)
    main.run()
    stopper.join()
    main.close()
    assert sent_in_time == [True]


def answer_and_look(main: MainThread, outbox: Outbox) -> list[tuple[bool, list[int]]]:
    """Answers in a turn; work after it records what was sent by then."""
    seen: list[tuple[bool, list[int]]] = []

    def answer() -> None:
        outbox.put(1)
        main.submit(look)

    def look() -> None:
        seen.append((outbox.held, list(outbox.sent)))
        main.stop()

    main.loop.call_soon(answer)
    return seen


def test_answers_leave_before_the_work_outside_of_the_loop() -> None:
    main, outbox = begun()
    seen = answer_and_look(main, outbox)
    run(main)
    assert seen == [(False, [1])]


def test_answers_leave_although_a_signal_handler_raised_as_they_were_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    main, outbox = begun()
    seen = answer_and_look(main, outbox)
    release = main.coalescer.release

    def interrupted() -> None:
        if sys._getframe(1).f_code.co_name == "_turn":
            monkeypatch.undo()
            raise KeyboardInterrupt
        release()

    monkeypatch.setattr(main.coalescer, "release", interrupted)
    run(main)
    assert seen == [(False, [1])]


def test_hooks_send_at_once() -> None:
    main, outbox = begun()
    seen: list[list[int]] = []

    async def hook() -> None:
        outbox.put(2)
        seen.append(list(outbox.sent))

    main.loop.call_soon(lambda: outbox.put(1))
    main.loop.call_soon(main.stop)
    main.run()
    main.complete(hook())
    main.close()
    assert seen == [[1, 2]]


def test_calls_that_are_read_together_are_answered_together() -> None:
    main, outbox = begun()
    seen: list[tuple[int, list[int]]] = []

    def answer(frame: int) -> None:
        outbox.put(frame)
        seen.append((main.coalescer.progress, list(outbox.sent)))

    main.submit(lambda: answer(1))
    main.submit(lambda: answer(2))
    main.submit(lambda: answer(3))
    run_until_sent(main, outbox)
    first = seen[0][0]
    # So the bridge's thread sees that it makes progress.
    assert seen == [(first, []), (first + 1, []), (first + 2, [1, 2, 3])]


def test_an_answer_leaves_although_the_last_call_read_has_none_yet() -> None:
    main, outbox = begun()
    main.submit(lambda: outbox.put(1))
    main.submit(lambda: None)
    run_until_sent(main, outbox)
    assert outbox.sent == [1]


def test_stopping_before_the_last_work_holds_nothing_back() -> None:
    main, outbox = begun()
    main.submit(main.stop)
    main.submit(lambda: None)
    main.run()
    assert not outbox.held
    main.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_a_signal_handler_that_raises_between_two_works_ends_nothing(
    error: type[BaseException],
) -> None:
    main = MainThread()
    done: list[str] = []

    def interrupted() -> None:
        raise error

    main.submit(interrupted)
    main.submit(lambda: done.append("work"))
    main.submit_to_loop(lambda: done.append("callback"))
    main.submit(main.stop)
    main.run()
    main.close()
    assert sorted(done) == ["callback", "work"]


def test_calls_begin_in_the_loop_in_their_order_whichever_thread_read_them() -> None:
    main, _ = begun()
    order: list[str] = []
    bridge = threading.Thread(
        target=main.submit_to_loop, args=(lambda: order.append("bridge"),)
    )
    bridge.start()
    bridge.join()
    main.submit_to_loop(lambda: order.append("main"))
    main.loop.call_soon(main.stop)
    run(main)
    assert order == ["bridge", "main"]


def test_a_thread_that_waits_in_the_loop_does_the_work_of_another_one() -> None:
    main, _ = begun()
    has_begun = threading.Event()
    done: list[bool] = []

    def submit() -> None:
        has_begun.wait(DEADLINE_S)
        main.submit(lambda: done.append(True))
        main.submit(main.stop)

    other = threading.Thread(target=submit)
    other.start()
    main.submit_to_loop(has_begun.set)
    run(main)
    other.join()
    assert done == [True]


def test_work_of_another_thread_wakes_a_thread_without_a_loop() -> None:
    main = MainThread()
    did: list[int] = []

    def work() -> None:
        did.append(threading.get_ident())
        if len(did) == 2:
            main.stop()
        else:
            # While the main thread is about to wait again.
            threading.Thread(target=main.submit, args=(work,)).start()

    threading.Thread(target=main.submit, args=(work,)).start()
    run(main)
    assert did == [threading.get_ident()] * 2


def test_a_loop_that_is_made_late_runs_what_other_threads_add() -> None:
    main = MainThread()
    did: list[str] = []

    def add() -> None:
        main.submit(lambda: did.append("work"))
        main.submit_to_loop(add_stop)

    def add_stop() -> None:
        main.loop.call_later(0, stop)

    def stop() -> None:
        did.append("loop")
        main.stop()

    def work() -> None:
        assert asyncio.get_event_loop() is main.loop
        threading.Thread(target=add).start()

    def make_the_loop() -> None:
        main.loop.call_soon(work)

    main.submit(make_the_loop)
    run(main)
    assert did == ["work", "loop"]


def test_a_chore_is_followed_by_a_pause_that_is_longer_than_the_chore() -> None:
    now = [100.0]
    done: list[float] = []

    def steps() -> Iterator[bool]:
        for takes in (0.5, 0.25):
            done.append(now[0])
            now[0] += takes
            yield True

    chores = _Chores(steps(), lambda: now[0])
    # Where calls wait already, they are first.
    assert chores.step() and done == []
    assert chores.wait(None) == pytest.approx(FIRST_CHORE_S)
    assert chores.wait(0.0) == 0.0
    now[0] += 2 * FIRST_CHORE_S
    assert chores.wait(None) == 0.0
    first = now[0]
    assert chores.step() and done == [first]
    assert chores.wait(None) == PAUSE * 0.5
    assert chores.step() and done == [first]
    now[0] += PAUSE * 0.5
    assert chores.step() and len(done) == 2
    now[0] += PAUSE * 0.25
    assert not chores.step()


def test_no_chore_is_done_while_a_call_runs_in_another_thread() -> None:
    now = [100.0]
    done: list[str] = []

    def call() -> None:
        began.set()
        chores.begin_call()
        done.append("call")

    def steps() -> Iterator[bool]:
        other.start()
        assert began.wait(DEADLINE_S)
        done.append("chore")
        yield True
        done.append("another")
        yield True

    began = threading.Event()
    other = threading.Thread(target=call)
    chores = _Chores(steps(), lambda: now[0])
    now[0] += FIRST_CHORE_S
    # The call that comes meanwhile waits for its end.
    assert chores.step()
    other.join()
    assert done == ["chore", "call"]
    now[0] += FIRST_CHORE_S
    assert chores.step() and len(done) == 2
    assert chores.wait(None) == pytest.approx(PUT_OFF_S)
    chores.end_call()
    now[0] += PUT_OFF_S
    assert chores.step() and done[2:] == ["another"]


def test_a_chore_that_is_not_possible_is_tried_again_later() -> None:
    now = [100.0]
    chores = _Chores(iter([False, True]), lambda: now[0])
    now[0] += FIRST_CHORE_S
    assert chores.step()
    assert chores.wait(None) == pytest.approx(PUT_OFF_S)
    now[0] += PUT_OFF_S
    assert chores.step()
    assert chores.wait(None) == 0.0
    assert not chores.step()


def test_work_that_comes_is_done_before_the_chores() -> None:
    main, _ = begun()
    done: list[str] = []

    def chore() -> Iterator[bool]:
        done.append("first chore")
        main.submit(lambda: done.append("work"))
        yield True
        done.append("second chore")
        main.stop()
        yield True

    main.run(chore())
    main.close()
    assert done == ["first chore", "work", "second chore"]


# --------------- Answers of one turn leave together, and none waits for a tool

TOOLS = """
import asyncio

from snakepit_bridge import tool

@tool
async def quick() -> str:
    return "quick"

@tool
async def blocks_the_loop(until: str) -> str:
    with open(until) as fifo:
        return fifo.read()

@tool
async def answers_before_a_block(until: str) -> str:
    # Its loop is blocked in the turn of its last step, behind it.
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def block() -> None:
        with open(until) as fifo:
            fifo.read()

    def go() -> None:
        ready.set_result(None)
        loop.call_soon(block)

    loop.call_soon(go)
    await ready
    return "answered"
"""


def test_an_answer_does_not_wait_for_a_tool_of_the_same_turn(
    start: Host, tmp_path: Path
) -> None:
    conversation = start(TOOLS).converse()
    gates = [tmp_path / "first", tmp_path / "second"]
    for gate in gates:
        os.mkfifo(gate)
    first = conversation.begin("blocks_the_loop", [str(gates[0])])
    # These come while it blocks, and so all begin in the turn after it.
    quick = [conversation.begin("quick") for _ in range(10)]
    second = conversation.begin("blocks_the_loop", [str(gates[1])])
    gates[0].write_text("1")
    before = [conversation.receive().result.call_id for _ in range(11)]
    assert before == [first, *quick]
    gates[1].write_text("2")
    assert conversation.receive().result.call_id == second


def test_a_lone_answer_does_not_wait_for_a_callback_that_blocks_the_loop(
    start: Host, tmp_path: Path
) -> None:
    conversation = start(TOOLS).converse()
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    only = conversation.begin("answers_before_a_block", [str(gate)])
    assert conversation.receive().result.call_id == only
    gate.write_text("")
    assert conversation.call("quick") == "quick"


def test_an_answer_does_not_wait_although_others_of_its_turn_were_sent_before(
    start: Host, tmp_path: Path
) -> None:
    conversation = start(TOOLS).converse()
    gates = [tmp_path / name for name in ("first", "second", "third")]
    for gate in gates:
        os.mkfifo(gate)
    first = conversation.begin("blocks_the_loop", [str(gates[0])])
    # These come while it blocks, and so all begin in the turn after it.
    calls = [
        conversation.begin("quick"),
        conversation.begin("blocks_the_loop", [str(gates[1])]),
        conversation.begin("quick"),
        conversation.begin("blocks_the_loop", [str(gates[2])]),
    ]
    gates[0].write_text("1")
    before = [conversation.receive().result.call_id for _ in range(2)]
    assert before == [first, calls[0]]
    gates[1].write_text("2")
    meanwhile = [conversation.receive().result.call_id for _ in range(2)]
    assert meanwhile == calls[1:3]
    gates[2].write_text("3")
    assert conversation.receive().result.call_id == calls[3]


class _Outbox:
    """Counts its flushes."""

    def __init__(self) -> None:
        self.held = False
        self.flushed = threading.Event()
        self.flushes = 0

    def flush(self) -> None:
        self.flushes += 1
        self.flushed.set()


def next_turn(coalescer: WriteCoalescer, *, follows_at_once: bool = False) -> None:
    coalescer.end_turn(follows_at_once)
    coalescer.begin_turn()


def test_frames_wait_for_turns_that_follow_at_once_but_not_for_long() -> None:
    now_ns = 0
    outbox = _Outbox()
    coalescer = WriteCoalescer(lambda: now_ns)
    coalescer.begin(outbox, _ManualLoop().as_loop(), lambda: True)
    next_turn(coalescer)
    flushes = outbox.flushes
    now_ns = MOST_HELD_NS
    next_turn(coalescer, follows_at_once=True)
    assert outbox.held
    assert outbox.flushes == flushes
    now_ns += 1
    next_turn(coalescer, follows_at_once=True)
    assert outbox.flushes == flushes + 1
    # The thread is about to wait: nothing waits with it.
    next_turn(coalescer)
    assert outbox.flushes == flushes + 2


def test_a_turn_holds_frames_back_while_several_calls_are_under_way() -> None:
    loop = _ManualLoop()
    outbox = _Outbox()
    calls = [1]
    coalescer = WriteCoalescer()
    next_turn(coalescer)
    coalescer.begin(outbox, loop.as_loop(), lambda: len(calls) > 1)
    next_turn(coalescer)
    held: bool = outbox.held
    assert not held
    calls.append(2)
    next_turn(coalescer)
    held = outbox.held
    assert held
    assert len(loop.timers) == 1
    assert outbox.flushes == 2
    coalescer.release()
    assert not outbox.held
    assert outbox.flushes == 3
    assert coalescer.progress == 6


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    thread = threading.Thread(target=made.run_forever)
    thread.start()
    yield made
    made.call_soon_threadsafe(made.stop)
    thread.join()
    made.close()


def test_frames_that_are_held_back_leave_when_the_main_thread_stands_still(
    loop: asyncio.AbstractEventLoop,
) -> None:
    outbox = _Outbox()
    coalescer = WriteCoalescer()
    coalescer.begin(outbox, loop, lambda: True)
    for _ in range(2):
        outbox.flushed.clear()
        coalescer.hold()
        assert outbox.flushed.wait(30)
        # No timer is left for frames that come later in the same turn.
        assert not outbox.held


class _ManualLoop:
    """Keeps callbacks until the test calls them."""

    def __init__(self) -> None:
        self.timers: list[Callable[[], object]] = []

    def as_loop(self) -> asyncio.AbstractEventLoop:
        return cast(asyncio.AbstractEventLoop, self)

    def call_soon_threadsafe(self, callback: Callable[[], object]) -> None:
        callback()

    def call_later(
        self, _delay: float, callback: Callable[[int], object], seen: int
    ) -> Callable[[], object]:
        self.timers.append(lambda: callback(seen))
        return self.timers[-1]


def test_a_main_thread_that_made_progress_is_watched_further() -> None:
    loop = _ManualLoop()
    outbox = _Outbox()
    coalescer = WriteCoalescer()
    coalescer.begin(outbox, loop.as_loop(), lambda: True)
    next_turn(coalescer)
    next_turn(coalescer)
    (look,) = loop.timers
    look()
    held: bool = outbox.held
    assert held
    loop.timers[1]()
    assert not outbox.held
    assert len(loop.timers) == 2


def test_a_main_thread_that_is_interrupted_as_the_watch_begins_is_watched_later(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(BaseException):
        pass

    outbox = _Outbox()
    coalescer = WriteCoalescer()
    coalescer.begin(outbox, loop, lambda: True)
    with monkeypatch.context() as patch:
        # As by a signal handler.
        interrupted = Mock(side_effect=Interrupted)
        patch.setattr(loop, "call_soon_threadsafe", interrupted)
        with pytest.raises(Interrupted):
            coalescer.hold()
    coalescer.hold()
    assert outbox.flushed.wait(30)


# ---------- Handlers of the tools' own signals that raise in the bridge's code

# As a handler does, in the main thread and once: in a step of gRPC's loop, and in
# what reads the host's frames.
INTERRUPTED = """
import threading

from snakepit_bridge import tool
from snakepit_bridge.bridge.conversation import Conversation
from snakepit_bridge.bridge.grpc_transport.stepped_loop import SteppedLoop

PLACES = {
    "step": (SteppedLoop, "_step"),
    "bytes": (Conversation, "receive"),
    "message": (Conversation, "receive_frame"),
}

@tool
def interrupt_next(place: str) -> str:
    owner, name = PLACES[place]
    whole = getattr(owner, name)

    def interrupted(self, *arguments):
        if threading.current_thread() is not threading.main_thread():
            return whole(self, *arguments)
        setattr(owner, name, whole)
        raise KeyboardInterrupt

    setattr(owner, name, interrupted)
    return "armed"
"""


# A call that was read elsewhere is answered; the next one, or one of the next, is not.
MOST_CALLS = 10_000


@pytest.mark.parametrize(
    ("transport", "place"),
    # The framed transport has no loop to step.
    [("grpc", "step"), ("grpc", "message"), ("framed", "bytes")],
)
def test_the_worker_leaves_and_its_host_does_not_wait(
    start: Host, transport: str, place: str
) -> None:
    worker = start(INTERRUPTED)
    conversation = worker.converse()
    with pytest.raises((grpc.RpcError, EOFError)):
        for _ in range(MOST_CALLS):
            conversation.begin("interrupt_next", [place])
            while not conversation.receive().HasField("result"):
                pass
    assert worker.exit_status() == 0
