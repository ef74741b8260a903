"""A cancel never leaves a lock held, or a count that is wrong."""

from __future__ import annotations

import opcode
import random
import sys
import time

import pytest
from conftest import Host
from support.effort import THOROUGH

from snakepit_bridge.calls.cancel.cancel_signal import CALLS, is_call

CANCELS = 1000 if THOROUGH else 60


@pytest.mark.parametrize(
    "load",
    [
        "puts_and_gets",
        "logs_to_a_queue",
        "counts",
        "locks",
        "acquires_and_tries",
        "has_a_decorator",
        "finalizes",
    ],
)
def test_calls_that_follow_a_cancel_find_no_lock_held(start: Host, load: str) -> None:
    chance = random.Random(1)
    conversation = start("holds_locks", silenceWarnMs=3_600_000).converse()
    for _ in range(CANCELS):
        call = conversation.begin(load, [False])
        assert conversation.logs.get(timeout=5).call_id == call
        # A moment between two of its lines.
        until = time.perf_counter() + chance.uniform(0, 0.003)
        while time.perf_counter() < until:
            pass
        conversation.cancel(call)
        conversation.terminal(call)
        conversation.call(load, [True])


def test_the_instructions_that_call_are_those_of_this_python() -> None:
    """A version that is not listed is asked when it starts, which takes longer."""
    calls = {number for name, number in opcode.opmap.items() if is_call(name)}
    assert CALLS[sys.version_info[:2]] == calls
