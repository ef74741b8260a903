"""A cancel never leaves a lock held, or a count that is wrong."""

from __future__ import annotations

import opcode
import sys

import pytest
from support.effort import THOROUGH
from support.measure_held_locks import LOADS, one_pool

from snakepit_bridge.calls.cancel.cancel_signal import CALLS, is_call

CANCELS = 1000 if THOROUGH else 60


@pytest.mark.parametrize("load", LOADS)
def test_calls_that_follow_a_cancel_find_no_lock_held(load: str) -> None:
    assert len(one_pool(sys.executable, load, CANCELS, seed=1)) == CANCELS


def test_the_instructions_that_call_are_those_of_this_python() -> None:
    """A version that is not listed is asked when it starts, which takes longer."""
    calls = {number for name, number in opcode.opmap.items() if is_call(name)}
    assert CALLS[sys.version_info[:2]] == calls
