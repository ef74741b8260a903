"""The main thread: when it holds answers back, and what interrupts it."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator

import pytest

from snakepit_bridge.threads.main_thread import (
    FIRST_CHORE_S,
    PAUSE,
    PUT_OFF_S,
    MainThread,
    _Chores,
)

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
