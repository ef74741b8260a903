"""Host calls: a tool calls a function that the host registered."""

from __future__ import annotations

from typing import Any, Protocol

from snakepit_bridge.calls.wakeup import Wakeup
from snakepit_bridge.values.decode import decode

__all__ = ["CALL_OVER", "CallHost", "HostCallFailed", "Reply"]

CALL_OVER = "CALL_OVER"


class HostCallFailed(Exception):
    """A function of the host failed, or there is no such function.

    Attributes:
        function: the function's name.
        code: the kind of failure, as the host reports it.
        message: the host's message.
    """

    def __init__(self, function: str, code: str, message: str) -> None:
        super().__init__(f"the host's function {function!r} failed: {message} [{code}]")
        self.function = function
        self.code = code
        self.message = message


class Reply:
    """The answer to one host call; set once, by the thread that reads."""

    def __init__(self, function: str) -> None:
        self.function = function
        self.wakeup = Wakeup()
        self._given: bytes | HostCallFailed | None = None

    def result(self, image: bytes) -> None:
        """Sets the image of what the function returned."""
        self._given = image
        self.wakeup.notify()

    def failure(self, code: str, message: str) -> None:
        """Sets the function's failure."""
        self._given = HostCallFailed(self.function, code, message)
        self.wakeup.notify()

    def call_over(self) -> None:
        """Notes that the call ended first, so that there is no answer."""
        self.failure(CALL_OVER, "its call is over")

    def given(self) -> bool:
        """Returns whether there is an answer."""
        return self._given is not None

    def is_call_over(self) -> bool:
        """Returns whether the call ended first."""
        return isinstance(self._given, HostCallFailed) and self._given.code == CALL_OVER

    def value(self) -> Any:
        """Returns the answer's value, or raises its failure."""
        if isinstance(self._given, HostCallFailed):
            raise self._given
        assert self._given is not None
        return decode(self._given)


class CallHost(Protocol):
    """Where the host calls of a call go."""

    def send_host_call(self, call_id: int, reply: Reply, argument: bytes) -> int:
        """Sends a host call on behalf of a call, and returns its number."""

    def drop_host_call(self, host_call_id: int) -> None:
        """Notifies the host that nothing waits for this host call any more."""
