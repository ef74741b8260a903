"""The tools with pytest, without Node: `python -m pytest`."""

from __future__ import annotations

import pytest
from snakepit_bridge.testing import ArgumentsInvalid


def test_the_mean_of_three(snakepit_tools) -> None:
    assert snakepit_tools.call("mean", {"numbers": [1, 2, 6]}) == 3


def test_text_is_no_number(snakepit_tools) -> None:
    with pytest.raises(ArgumentsInvalid, match=r"numbers\[0\]"):
        snakepit_tools.call("mean", {"numbers": ["one"]})


def test_the_rate_is_the_hosts(snakepit_tools) -> None:
    arguments = {"amount": 2.0, "currency": "EUR"}
    host = {"rate": {"EUR": 1.5}.get}
    answer = snakepit_tools.call("in_currency", arguments, host_functions=host)
    assert answer == 3.0
