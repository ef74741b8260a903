"""The loop of the bridge's thread, and waiting in it."""

from __future__ import annotations

import asyncio
import logging
import selectors
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from snakepit_bridge.threads.bridge_loop import BridgeLoop, Loop, LoopWakeup

DEADLINE_S = 30.0


@pytest.fixture
def loop() -> Iterator[BridgeLoop]:
    loop = BridgeLoop(selectors.DefaultSelector())
    yield loop
    loop.close()


@pytest.fixture(params=[BridgeLoop, asyncio.SelectorEventLoop])
def either(request: pytest.FixtureRequest) -> Iterator[Loop]:
    loop: Loop = request.param(selectors.DefaultSelector())
    yield loop
    loop.close()


def run(loop: Loop, until: Callable[[], bool]) -> None:
    """Runs the loop until something is so, which a callback changes."""

    async def wait() -> None:
        notice = LoopWakeup(loop)
        look(notice)
        assert await notice.wait(until, DEADLINE_S)

    def look(notice: LoopWakeup) -> None:
        notice.notify()
        if not until():
            loop.call_later(0.001, look, notice)

    loop.run_until_complete(wait())


def test_timers_run_in_the_order_of_their_times(loop: BridgeLoop) -> None:
    ran: list[str] = []
    loop.call_later(0.02, ran.append, "late")
    loop.call_later(0, ran.append, "now")
    loop.call_later(0.01, ran.append, "cancelled").cancel()
    loop.call_at(loop.time() + 0.005, ran.append, "soon")
    run(loop, lambda: len(ran) == 3)
    assert ran == ["now", "soon", "late"]


def test_another_thread_wakes_it(loop: BridgeLoop) -> None:
    threads: list[int] = []

    def note() -> None:
        threads.append(threading.get_ident())

    async def wait() -> None:
        notice = LoopWakeup(loop)

        def wake() -> None:
            loop.call_soon_threadsafe(note)
            notice.notify()

        loop.call_soon_threadsafe(threading.Thread(target=wake).start)
        assert await notice.wait(lambda: bool(threads))

    # Without a timer: only the other thread can end this.
    loop.run_until_complete(wait())
    assert threads == [threading.get_ident()]


def test_descriptors_are_watched_until_they_are_removed(loop: BridgeLoop) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        got: list[Any] = []

        def write() -> None:
            assert loop.remove_writer(ours)
            got.append("writable")
            theirs.send(b"x")

        loop.add_reader(ours.fileno(), lambda: got.append(ours.recv(9)))
        loop.add_writer(ours, write)
        run(loop, lambda: len(got) == 2)
        assert got == ["writable", b"x"]
        assert loop.remove_reader(ours)
        assert not loop.remove_reader(ours)
        theirs.send(b"y")
        loop.call_later(0.01, got.append, "later")
        run(loop, lambda: len(got) == 3)
        assert got[2] == "later"


def test_a_callback_that_was_removed_does_not_run(loop: BridgeLoop) -> None:
    # Both are readable in one turn, and the first one removes the second.
    pairs = [socket.socketpair() for _ in range(2)]
    ran: list[int] = []

    def read(number: int) -> None:
        ran.append(number)
        for ours, _ in pairs:
            loop.remove_reader(ours)

    for number, (ours, theirs) in enumerate(pairs):
        theirs.send(b"x")
        loop.add_reader(ours, read, number)
    over: list[bool] = []
    loop.call_later(0.02, over.append, True)
    run(loop, lambda: bool(over))
    assert len(ran) == 1
    for pair in pairs:
        for end in pair:
            end.close()


def test_an_error_of_one_callback_ends_no_other(
    loop: BridgeLoop, caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[bool] = []
    loop.call_soon_threadsafe(int, "no number")
    loop.call_soon_threadsafe(ran.append, True)
    with caplog.at_level(logging.ERROR):
        run(loop, lambda: bool(ran))
    assert "no number" in caplog.text


def test_what_a_coroutine_raises_is_raised(loop: BridgeLoop) -> None:
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        loop.run_until_complete(fail())


def test_a_closed_loop_takes_nothing() -> None:
    loop = BridgeLoop(selectors.DefaultSelector())
    loop.close()
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_soon_threadsafe(lambda: None)
    LoopWakeup(loop).notify()


def test_a_wait_ends_when_it_is_so_or_after_its_time(either: Loop) -> None:
    found: list[bool] = []

    async def wait() -> None:
        notice = LoopWakeup(either)
        found.append(await notice.wait(lambda: False, 0.01))
        found.append(await notice.wait(lambda: True, 0))
        asked: list[int] = []

        def third() -> bool:
            asked.append(1)
            return len(asked) == 3

        either.call_later(0, notice.notify)
        either.call_later(0.01, notice.notify)
        found.append(await notice.wait(third, DEADLINE_S))

    either.run_until_complete(wait())
    assert found == [False, True, True]


def test_tasks_run_beside_each_other(either: Loop) -> None:
    ran: list[str] = []
    notice = LoopWakeup(either)

    async def beside() -> None:
        await LoopWakeup(either).wait(lambda: False, 0.001)
        ran.append("beside")
        notice.notify()

    async def wait() -> None:
        task = either.create_task(beside())
        ran.append("begun")
        assert await notice.wait(lambda: len(ran) == 2, DEADLINE_S)
        assert task is not None

    either.run_until_complete(wait())
    assert ran == ["begun", "beside"]
