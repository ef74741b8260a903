"""The resource use of the worker and all its descendants on their node."""

from __future__ import annotations

import os
from typing import NamedTuple

from snakepit_bridge.cluster.descendants import descendants_of

__all__ = ["Usage", "usage_of_descendants"]

TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Usage(NamedTuple):
    """Processor time since the worker's start, and resident memory."""

    cpu_ms: int
    resident_bytes: int


def usage_of_descendants(ended_cpu_s: float) -> Usage:
    """Returns the sum over all descendants.

    Args:
        ended_cpu_s: Of those that ended, and were waited for by this process.
    """
    ticks = pages = 0
    for pid in descendants_of(os.getpid()):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                text = file.read()
        except OSError:
            continue
        fields = text[text.rfind(b")") + 2 :].split()
        # utime, stime, and those of the children that it waited for.
        ticks += sum(map(int, fields[11:15]))
        pages += int(fields[21])
    return Usage(round(ticks * TICK_MS + ended_cpu_s * 1000), pages * PAGE_BYTES)
