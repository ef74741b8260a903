"""The credit of a stream, in any order of takes and grants."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snakepit_bridge.calls.run.credit import LEAST_COUNTED_BYTES, Credit

Move = tuple[Literal["take", "grant"], int]
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("take"), st.integers(0, 3 * LEAST_COUNTED_BYTES)),
        st.tuples(st.just("grant"), st.integers(1, 4)),
    ),
    max_size=40,
)


@given(chunks=st.integers(0, 5), small_bytes=st.sampled_from([0, 600]), moves=MOVES)
def test_chunks_may_be_sent_within_the_credit_or_while_all_under_way_are_small(
    chunks: int, small_bytes: int, moves: list[Move]
) -> None:
    credit = Credit(chunks, small_bytes)
    counted: list[int] = []
    arrived = 0
    for what, number in moves:
        if what == "grant":
            credit.grant(number)
            arrived += number
        elif credit.available():
            credit.take(number)
            counted.append(max(number, LEAST_COUNTED_BYTES))
        assert (credit.sent, credit.arrived) == (len(counted), arrived)
        is_small = small_bytes > 0 and sum(counted[arrived:]) < small_bytes
        is_within = len(counted) < chunks + arrived
        assert credit.available() == (is_within or is_small)


def test_a_stream_without_small_chunks_remembers_none() -> None:
    credit = Credit(100)
    credit.take(1)
    assert len(credit._sizes) == 0


def test_a_stream_remembers_no_more_chunks_than_are_under_way() -> None:
    credit = Credit(2, 1_000_000)
    for _ in range(100):
        credit.take(1)
        credit.grant(1)
    assert len(credit._sizes) <= 3


@pytest.mark.parametrize("chunks", [1, 3])
def test_a_grant_wakes_the_tool_that_waits_for_it(chunks: int) -> None:
    credit = Credit(0)
    woken: list[bool] = []
    assert credit.wakeup.park(
        credit.available, lambda: woken.append(credit.available())
    )
    credit.grant(chunks)
    assert woken == [True]
