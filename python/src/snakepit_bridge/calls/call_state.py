"""Where a call stands."""

from __future__ import annotations

import enum

__all__ = ["CallState"]


class CallState(enum.Enum):
    """The states of a call, in order. Only `RUNNING` may be left out, by a call that
    is cancelled while it waits."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"
