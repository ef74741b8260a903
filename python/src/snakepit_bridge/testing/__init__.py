"""Runs tools without a host, for their tests.

    from snakepit_bridge.testing import call_context, call_tool

    def test_the_prices_are_the_hosts() -> None:
        with call_context(host_functions={"price": lambda article: 3}):
            assert total(["pen", "ink"]) == 6

    def test_a_list_is_needed() -> None:
        with pytest.raises(ArgumentsInvalid):
            call_tool(total, {"articles": 3})

`@tool` does not change a function: a test calls it like any other. Within
`call_context`, `current_call()` offers everything that it has in a worker. `call_tool`
and `stream_tool` do more: they convert arguments and answers as between a host and a
worker, and check arguments against the annotations.

The function of a batch takes a list. `batch_answers` reads what it returns, as a worker
does:

    with batch_context(2):
        assert batch_answers(lengths(["pen", "water"]), 2) == [3, 5]

The pytest fixtures `snakepit_call` and `snakepit_tools` do the same.
"""

from snakepit_bridge.testing.call_context import (
    HostFunction,
    LocalCall,
    batch_context,
    call_context,
)
from snakepit_bridge.testing.tool_calls import call_tool, stream_tool
from snakepit_bridge.tools.batch import batch_answers
from snakepit_bridge.tools.binding import ArgumentsInvalid

__all__ = [
    "ArgumentsInvalid",
    "HostFunction",
    "LocalCall",
    "batch_answers",
    "batch_context",
    "call_context",
    "call_tool",
    "stream_tool",
]
