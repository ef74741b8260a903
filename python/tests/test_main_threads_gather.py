"""When a main thread holds answers back, and when it has them leave."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

import pytest

from snakepit_bridge.bridge.shared_reading.reading_main_thread import (
    ReadingMainThread,
)
from snakepit_bridge.calls.waiting_main_thread import WaitingMainThread

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


Main = WaitingMainThread | ReadingMainThread


def waiting(_outbox: Outbox) -> Main:
    return WaitingMainThread()


def reading(outbox: Outbox) -> Main:
    return ReadingMainThread(outbox)


def begun(make: Callable[[Outbox], Main]) -> tuple[Main, Outbox]:
    """Returns a main thread with many calls, which nobody watches."""
    outbox = Outbox()
    main = make(outbox)
    main.gathering.begin(outbox, lambda: True, lambda: None)
    return main, outbox


def run(main: Main) -> None:
    """Runs until it is stopped."""
    too_late = threading.Timer(DEADLINE_S, main.stop)
    too_late.start()
    main.run()
    too_late.cancel()
    main.close()


def run_until_sent(main: Main, outbox: Outbox) -> None:
    """Runs until something was sent."""

    def stop() -> None:
        outbox.has_sent.wait(DEADLINE_S)
        main.stop()

    stopper = threading.Thread(target=stop)
    stopper.start()
    main.run()
    stopper.join()
    main.close()


both = pytest.mark.parametrize("make", [waiting, reading])


@both
def test_the_answers_of_a_turn_leave_together(make: Callable[[Outbox], Main]) -> None:
    main, outbox = begun(make)
    seen: list[list[int]] = []

    def answer(frame: int) -> None:
        outbox.put(frame)
        seen.append(list(outbox.sent))

    main.loop.call_soon(lambda: answer(1))
    main.loop.call_soon(lambda: answer(2))
    run_until_sent(main, outbox)
    assert seen == [[], []]
    assert outbox.sent == [1, 2]


@both
def test_they_leave_before_the_loop_waits(make: Callable[[Outbox], Main]) -> None:
    main, outbox = begun(make)
    sent_in_time: list[bool] = []

    def answer() -> None:
        outbox.put(1)
        # So that it does not wait at its queue.
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


def answer_and_look(main: Main, outbox: Outbox) -> list[tuple[bool, list[int]]]:
    """Has a turn answer, and something behind it see what has left by then."""
    seen: list[tuple[bool, list[int]]] = []

    def answer() -> None:
        outbox.put(1)
        main.submit(look)

    def look() -> None:
        seen.append((outbox.held, list(outbox.sent)))
        main.stop()

    main.loop.call_soon(answer)
    return seen


@both
def test_they_leave_before_what_is_done_outside_of_the_loop(
    make: Callable[[Outbox], Main],
) -> None:
    main, outbox = begun(make)
    seen = answer_and_look(main, outbox)
    run(main)
    assert seen == [(False, [1])]


@both
def test_they_leave_where_a_signals_handler_raised_as_they_were_about_to(
    make: Callable[[Outbox], Main], monkeypatch: pytest.MonkeyPatch
) -> None:
    main, outbox = begun(make)
    seen = answer_and_look(main, outbox)
    release = main.gathering.release

    def interrupted() -> None:
        if sys._getframe(1).f_code.co_name in ("_run_loop", "_turn"):
            monkeypatch.undo()
            raise KeyboardInterrupt
        release()

    monkeypatch.setattr(main.gathering, "release", interrupted)
    run(main)
    assert seen == [(False, [1])]


@both
def test_nothing_is_held_back_in_hooks(make: Callable[[Outbox], Main]) -> None:
    main, outbox = begun(make)
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


def test_what_is_read_at_once_is_answered_at_once() -> None:
    main, outbox = begun(reading)
    seen: list[tuple[int, list[int]]] = []

    def answer(frame: int) -> None:
        outbox.put(frame)
        seen.append((main.gathering.progress, list(outbox.sent)))

    main.submit(lambda: answer(1))
    main.submit(lambda: answer(2))
    main.submit(lambda: answer(3))
    run_until_sent(main, outbox)
    first = seen[0][0]
    # Nobody takes it for a main thread that stands still.
    assert seen == [(first, []), (first + 1, []), (first + 2, [1, 2, 3])]


def test_an_answer_leaves_also_where_the_last_one_read_has_none_yet() -> None:
    main, outbox = begun(reading)
    main.submit(lambda: outbox.put(1))
    main.submit(lambda: None)
    run_until_sent(main, outbox)
    assert outbox.sent == [1]


def test_nothing_is_held_back_where_it_was_stopped_before_the_last() -> None:
    main, outbox = begun(reading)
    main.submit(main.stop)
    main.submit(lambda: None)
    main.run()
    assert not outbox.held
    main.close()
