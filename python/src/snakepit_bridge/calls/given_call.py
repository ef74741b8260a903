"""A call that was made before its tool runs."""

from __future__ import annotations

from snakepit_bridge.calls.cancellation import Cancellation
from snakepit_bridge.calls.context import Call

__all__ = ["GivenCall"]


class GivenCall:
    """See `CurrentCall`."""

    def __init__(self, call: Call) -> None:
        self.call = call

    @property
    def cancellation(self) -> Cancellation:
        return self.call._cancellation
