"""When a batch begins, and with which calls; time is played by the test."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snakepit_bridge.calls.run.batches import FEW, BatchQueue, wait_s
from snakepit_bridge.calls.run.running_call import CallState
from snakepit_bridge.tools.batch import Batch


class Bench:
    """A queue, the batches that have begun, and its clock."""

    def __init__(self, **batch: Any) -> None:
        self.now = 100.0
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.begun: list[list[Any]] = []
        self.queue = BatchQueue(
            Batch(**batch), self.begun.append, self._later, lambda: self.now
        )

    def _later(self, delay_s: float, callback: Callable[[], None]) -> None:
        self.timers.append((self.now + delay_s, callback))

    def submit(self, count: int = 1, deadline: float | None = None) -> list[Any]:
        calls: list[Any] = [
            SimpleNamespace(
                state=CallState.WAITING, call=SimpleNamespace(deadline=deadline)
            )
            for _ in range(count)
        ]
        for call in calls:
            self.queue.submit(call)
        return calls

    def over(self) -> None:
        self.queue.over(len(self.begun[-1]))

    def pass_ms(self, ms: float) -> None:
        end = self.now + ms / 1000
        # Both sums of milliseconds may be off by a little.
        while due := [timer for timer in self.timers if timer[0] <= end + 1e-9]:
            timer = min(due, key=lambda each: each[0])
            self.timers.remove(timer)
            self.now = max(self.now, timer[0])
            timer[1]()
        self.now = end

    @property
    def sizes(self) -> list[int]:
        return [len(batch) for batch in self.begun]


def test_a_call_that_is_alone_does_not_wait() -> None:
    bench = Bench()
    for _ in range(3):
        bench.submit()
        bench.over()
        bench.pass_ms(1)
    assert (bench.sizes, bench.timers) == ([1, 1, 1], [])


def test_calls_that_come_while_a_batch_runs_are_the_next_in_their_order() -> None:
    bench = Bench(max=4)
    bench.submit()
    calls = bench.submit(6)
    bench.over()
    bench.over()
    bench.pass_ms(5)
    assert bench.begun[1:] == [calls[:4], calls[4:]]


def test_after_a_batch_of_several_the_next_one_waits_for_as_many() -> None:
    bench = Bench(max=8, wait_ms=5)
    bench.submit()
    bench.submit(7)
    bench.over()
    bench.over()
    bench.submit(6)
    assert bench.sizes == [1, 7]
    bench.submit()
    assert bench.sizes == [1, 7, 7]


def test_two_groups_of_callers_join() -> None:
    bench = Bench(max=8, wait_ms=5)
    bench.submit()
    bench.submit(4)
    bench.over()
    bench.submit(4)
    bench.over()
    bench.submit(3)
    assert bench.sizes == [1, 4]
    bench.submit()
    assert bench.sizes == [1, 4, 8]


def test_it_waits_no_longer_than_it_may_and_once() -> None:
    bench = Bench(max=8, wait_ms=5)
    bench.submit()
    bench.submit(7)
    bench.over()
    bench.over()
    bench.pass_ms(3)
    bench.submit(2)
    bench.pass_ms(1)
    assert bench.sizes == [1, 7]
    bench.pass_ms(1)
    assert bench.sizes == [1, 7, 2]


def test_a_call_that_comes_later_than_that_does_not_wait() -> None:
    bench = Bench(max=8, wait_ms=5)
    bench.submit()
    bench.submit(7)
    bench.over()
    bench.over()
    bench.pass_ms(6)
    bench.submit()
    assert bench.sizes == [1, 7, 1]


def test_a_call_does_not_wait_beyond_its_deadline() -> None:
    bench = Bench(max=8, wait_ms=5)
    bench.submit()
    bench.submit(7)
    bench.over()
    bench.over()
    bench.submit(1, deadline=bench.now + 0.004)
    assert bench.sizes == [1, 7, 1]


def test_the_timer_of_an_earlier_wait_ends_no_later_one() -> None:
    bench = Bench(max=8, wait_ms=5)
    bench.submit()
    bench.submit(7)
    bench.over()
    bench.over()
    bench.submit(7)  # Enough after one of them had to wait.
    bench.pass_ms(2)
    bench.over()
    bench.submit(1)
    bench.pass_ms(4)  # The first timer comes.
    assert bench.sizes == [1, 7, 7]
    bench.pass_ms(1)
    assert bench.sizes == [1, 7, 7, 1]


def test_calls_that_were_cancelled_while_they_waited_are_forgotten() -> None:
    bench = Bench(max=4)
    bench.submit()
    for _ in range(10):
        for call in bench.submit(FEW):
            call.state = CallState.ENDED
    assert len(bench.queue._waiting) <= FEW
    bench.submit(2)
    bench.over()
    assert bench.sizes == [1, 2]


@pytest.mark.parametrize("wrong", [{"max": 0}, {"wait_ms": -1}, {"wait_ms": 1e999}])
def test_a_batch_has_a_call_and_a_time(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"batch|wait_ms"):
        Batch(**wrong)


@given(
    st.integers(1, 64),
    st.floats(0, 1000),
    st.integers(1, 100),
    st.integers(0, 100),
    st.floats(0, 10),
)
def test_no_wait_is_longer_than_declared_and_a_full_batch_never_waits(
    most: int, wait_ms: float, calls: int, before: int, since_s: float
) -> None:
    wait = wait_s(Batch(most, wait_ms), calls, before, since_s)
    assert 0 <= wait <= wait_ms / 1000
    assert since_s + wait <= max(since_s, wait_ms / 1000) + 1e-9
    if calls >= most or before <= 1:
        assert wait == 0


def test_many_wait_for_no_few() -> None:
    bench = Bench(max=8, wait_ms=5)
    bench.submit()
    bench.submit(4)
    bench.over()
    assert bench.sizes == [1, 4]
