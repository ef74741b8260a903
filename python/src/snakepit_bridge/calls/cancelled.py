"""What a tool sees of a cancellation."""

from __future__ import annotations

import enum

__all__ = ["CallCancelled", "CancelReason"]


class CancelReason(enum.Enum):
    """Why a call was cancelled."""

    CALLER = "the caller gave up"
    DEADLINE = "its deadline passed"
    SHUTDOWN = "the worker is leaving"


class CallCancelled(BaseException):
    """Raised inside a tool whose call is cancelled.

    A `BaseException`, as `asyncio.CancelledError` is, so that `except Exception`
    does not swallow it. Clean up in `finally` and let it propagate: a clean-up is not
    interrupted for a second. If it is swallowed, it is raised again.

    Attributes:
        reason: why.
    """

    def __init__(self, reason: CancelReason = CancelReason.CALLER) -> None:
        super().__init__(f"the call was cancelled: {reason.value}")
        self.reason = reason
