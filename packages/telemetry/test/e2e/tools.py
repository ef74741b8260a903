"""Tools that are seen in a trace."""

import itertools
import logging
import os
import pathlib
import signal
import time
from collections.abc import Iterator

from opentelemetry import metrics, trace
from snakepit_bridge import current_call, tool

logger = logging.getLogger("tools")
tracer = trace.get_tracer("tools")
meter = metrics.get_meter("tools")
weighed = meter.create_counter("weighed", unit="kg")
weights = meter.create_histogram("weights", explicit_bucket_boundaries_advisory=[1, 10])


@tool
def price(of: str) -> int:
    """Asks the host, within a span of its own."""
    with tracer.start_as_current_span("look up"):
        return int(current_call().host("catalogue", of))


@tool
def weigh(kilograms: int) -> None:
    """Measures, and says so."""
    weighed.add(kilograms, {"of": "tea"})
    weights.record(kilograms)
    logger.warning("weighed %d kg", kilograms)


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


@tool
def wait() -> None:
    """Blocks for longer than any test."""
    print("begun", flush=True)
    time.sleep(600)


@tool
def endless() -> Iterator[int]:
    """Streams until nobody wants more."""
    yield from itertools.count()


@tool
def sell(of: str) -> None:
    """Asks the host for what fails there."""
    current_call().host("sell", of)


@tool
def fragile(marker: str) -> str:
    """Has its worker killed, but for the second time."""
    path = pathlib.Path(marker)
    if path.exists():
        return "alive"
    path.touch()
    os.kill(os.getpid(), signal.SIGKILL)
    return "dead"
