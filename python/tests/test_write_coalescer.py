"""Answers of one turn leave together, and none waits for a tool."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast
from unittest.mock import Mock

import pytest
from conftest import Host

from snakepit_bridge.threads.write_coalescer import MOST_HELD_NS, WriteCoalescer

BOTH_TRANSPORTS_IN_CHECK = True

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
