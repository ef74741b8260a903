"""Tools that are seen in a trace."""

from collections.abc import Iterator

from opentelemetry import trace
from snakepit_bridge import current_call, tool

tracer = trace.get_tracer("tools")


@tool
def price(of: str) -> int:
    """Asks the host, within a span of its own."""
    with tracer.start_as_current_span("look up"):
        return int(current_call().host("catalogue", of))


@tool
def count(to: int) -> Iterator[int]:
    """Streams."""
    for number in range(to):
        with tracer.start_as_current_span(f"item {number}"):
            pass
        yield number


@tool
def divide(by: int) -> float:
    """Fails for 0."""
    return 1 / by
