"""The exception by which a tool sees its cancellation."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.calls.cancel_reason import CancelReason

__all__ = ["CallCancelled"]


class CallCancelled(BaseException):
    """Raised inside a tool whose call is cancelled.

    It is a `BaseException`, like `asyncio.CancelledError`, so `except Exception` does
    not swallow it. Clean up in `finally` and let it propagate: a clean-up runs for a
    second without interruption. If a tool swallows the error, it is raised again.

    Attributes:
        reason: why; by default because the caller gave up.
    """

    def __init__(self, reason: CancelReason | None = None) -> None:
        if reason is None:
            # Most workers cancel nothing, and importing `enum` makes every start
            # slower.
            from snakepit_bridge.calls.cancel_reason import CancelReason

            reason = CancelReason.CALLER
        super().__init__(f"the call was cancelled: {reason.value}")
        self.reason = reason
