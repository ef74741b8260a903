"""Calls that take turns, with the main thread played by the test."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from snakepit_bridge.calls.run.call_state import CallState
from snakepit_bridge.calls.run.plain_call import PlainCall
from snakepit_bridge.calls.run.turns import Turns


class MainThread:
    """Does what it was asked to when the test says so."""

    def __init__(self) -> None:
        self.one_at_a_time = False
        self.gathering = SimpleNamespace(progress=0)
        self.work: list[Callable[[], None]] = []
        self.for_loop: list[Callable[[], None]] = []

    def submit(self, work: Callable[[], None]) -> None:
        self.work.append(work)

    def submit_to_loop(self, work: Callable[[], None]) -> None:
        self.for_loop.append(work)

    def run(self) -> None:
        while self.work:
            self.work.pop(0)()

    def run_loop(self) -> None:
        while self.for_loop:
            self.for_loop.pop(0)()


class Bench:
    """Turns, and the calls that have begun."""

    def __init__(self) -> None:
        self.main = MainThread()
        self.begun: list[Any] = []
        self.when_begun: Callable[[Any], None] = lambda _: None
        # Returns the call that goes on.
        self.runs_plain: Callable[[Any], Any] = lambda _: None
        main: Any = self.main
        self.turns = Turns(main, self._start, self._run_plain)

    def _start(self, call: Any) -> None:
        self.begun.append(call)
        self.when_begun(call)

    def _run_plain(self, call: Any, waiting: deque[Any]) -> Any:
        assert waiting is self.turns.waiting
        self._start(call)
        return self.runs_plain(call)

    def submit(self, is_async: bool = False) -> Any:
        call: Any = SimpleNamespace(
            state=CallState.WAITING,
            tool=SimpleNamespace(is_async=is_async),
            is_coroutine=False,
        )
        self.turns.submit(call)
        return call


def test_a_call_begins_in_the_main_thread_when_the_one_before_is_over() -> None:
    bench = Bench()
    assert bench.main.one_at_a_time
    first, second, third = bench.submit(), bench.submit(), bench.submit()
    assert bench.begun == []
    # It is asked once, however many calls there are.
    assert len(bench.main.work) == 1
    bench.main.run()
    assert bench.begun == [first]
    bench.turns.over(first)
    bench.main.run()
    assert bench.begun == [first, second]
    bench.turns.over(second)
    bench.main.run()
    assert bench.begun == [first, second, third]
    assert bench.main.gathering.progress == 3
    bench.turns.over(third)
    assert bench.main.work == []


def test_asynchronous_calls_begin_in_the_loop_and_others_outside_of_it() -> None:
    bench = Bench()
    first, second = bench.submit(is_async=True), bench.submit(is_async=True)
    third, fourth = bench.submit(), bench.submit(is_async=True)
    main = bench.main
    assert (len(main.for_loop), main.work) == (1, [])
    main.for_loop.pop()()
    assert bench.begun == [first]
    bench.turns.over(first)
    main.for_loop.pop()()
    assert bench.begun == [first, second]
    bench.turns.over(second)
    assert main.for_loop == []
    main.run()
    assert bench.begun == [first, second, third]
    bench.turns.over(third)
    assert main.work == []
    main.for_loop.pop()()
    assert bench.begun == [first, second, third, fourth]


def test_a_call_that_was_cancelled_leaves_the_turn_to_the_next_kind() -> None:
    bench = Bench()
    bench.submit(is_async=True).state = CallState.ENDED
    second = bench.submit()
    bench.main.for_loop.pop()()
    assert bench.begun == []
    bench.main.run()
    assert bench.begun == [second]


def test_calls_that_end_where_they_begin_need_one_look() -> None:
    bench = Bench()
    bench.when_begun = bench.turns.over
    calls = [bench.submit() for _ in range(3)]
    assert len(bench.main.work) == 1
    bench.main.work.pop()()
    assert bench.begun == calls
    assert bench.main.work == []
    assert bench.main.gathering.progress == 3


def test_a_plain_call_that_goes_on_keeps_the_turn() -> None:
    bench = Bench()
    first, second = PlainCall(), bench.submit()
    bench.turns.waiting.appendleft(first)
    going_on = [first]
    bench.runs_plain = lambda _: going_on.pop()
    bench.main.run()
    assert bench.begun == [first]
    bench.turns.look()
    bench.main.run()
    assert bench.begun == [first]
    bench.turns.over(first)
    bench.main.run()
    assert bench.begun == [first, second]


def test_a_call_that_comes_while_another_one_runs_waits_for_its_end() -> None:
    bench = Bench()
    first = bench.submit()
    bench.main.run()
    second = bench.submit()
    bench.main.run()
    assert bench.begun == [first]
    bench.turns.over(first)
    bench.main.run()
    assert bench.begun == [first, second]


def test_a_call_that_comes_while_the_main_thread_looks_is_seen_by_that_look() -> None:
    bench = Bench()
    bench.when_begun = bench.turns.over
    bench.submit()
    late: list[Any] = []

    def comes_late(call: Any) -> None:
        bench.turns.over(call)
        if not late:
            late.append(bench.submit())
            assert bench.main.work == []

    bench.when_begun = comes_late
    bench.main.work.pop()()
    assert bench.begun[1:] == late


def test_a_call_that_was_cancelled_while_it_waited_does_not_begin() -> None:
    bench = Bench()
    first, cancelled, last = bench.submit(), bench.submit(), bench.submit()
    bench.main.run()
    cancelled.state = CallState.ENDED
    bench.turns.over(first)
    bench.main.run()
    assert bench.begun == [first, last]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_call_that_is_cancelled_as_it_gets_its_turn_does_not_keep_it(
    is_async: bool,
) -> None:
    bench = Bench()
    met = threading.Event()

    class Turn:
        """A lock that says when the other thread is at it."""

        def __init__(self) -> None:
            self._lock = threading.Lock()

        def __enter__(self) -> None:
            if threading.current_thread() is not threading.main_thread():
                met.set()
            self._lock.acquire()

        def __exit__(self, *_: object) -> None:
            self._lock.release()

    def cancel() -> None:
        bench.turns.over(call)
        met.set()

    class Cancelled:
        """A call that another thread cancels when the main thread has seen it wait."""

        tool = SimpleNamespace(is_async=is_async)
        is_coroutine = False

        @property
        def state(self) -> CallState:
            canceller.start()
            assert met.wait(30)
            return CallState.WAITING

    bench.turns._turn = Turn()  # type: ignore[assignment]
    canceller = threading.Thread(target=cancel)
    call: Any = Cancelled()
    bench.turns.submit(call)
    bench.main.run()
    bench.main.run_loop()
    canceller.join(30)
    last = bench.submit()
    bench.main.run()
    assert bench.begun == [call, last]


def test_the_end_of_a_call_that_is_not_its_turn_begins_nothing() -> None:
    bench = Bench()
    first, waiting = bench.submit(), bench.submit()
    bench.main.run()
    bench.turns.over(waiting)
    bench.main.run()
    assert bench.begun == [first]


def test_an_interrupt_at_the_end_of_a_call_keeps_no_other_from_its_turn() -> None:
    bench = Bench()

    def interrupted(call: Any) -> None:
        bench.turns.over(call)
        raise KeyboardInterrupt

    bench.when_begun = interrupted
    first, second = bench.submit(), bench.submit()
    with pytest.raises(KeyboardInterrupt):
        bench.main.run()
    bench.when_begun = lambda _: None
    bench.main.run()
    assert bench.begun == [first, second]


def test_an_interrupt_in_a_call_that_runs_on_does_not_begin_the_next() -> None:
    bench = Bench()

    def interrupted(_: Any) -> None:
        raise KeyboardInterrupt

    bench.when_begun = interrupted
    first, second = bench.submit(), bench.submit()
    with pytest.raises(KeyboardInterrupt):
        bench.main.run()
    bench.when_begun = lambda _: None
    bench.main.run()
    assert bench.begun == [first]
    bench.turns.over(first)
    bench.main.run()
    assert bench.begun == [first, second]
