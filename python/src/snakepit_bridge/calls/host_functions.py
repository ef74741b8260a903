"""Back-calls: a tool calls a function that the host registered."""

from __future__ import annotations

from typing import Any, Protocol

from snakepit_bridge.calls.cancellation import Cancellation
from snakepit_bridge.calls.wakeup import Wakeup
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

__all__ = ["HostCallFailed", "HostFunctions", "HostLink", "Reply"]


class HostCallFailed(Exception):
    """A function of the host failed, or there is no such function.

    Attributes:
        function: its name.
        code: what kind of failure the host says it is.
        message: the host's words.
    """

    def __init__(self, function: str, code: str, message: str) -> None:
        super().__init__(f"the host's function {function!r} failed: {message} [{code}]")
        self.function = function
        self.code = code
        self.message = message


class Reply:
    """The answer to one host call, given once by the thread that reads."""

    def __init__(self, function: str) -> None:
        self.function = function
        self.wakeup = Wakeup()
        self._given: bytes | HostCallFailed | None = None

    def result(self, image: bytes) -> None:
        """Gives what the function returned."""
        self._given = image
        self.wakeup.notify()

    def failure(self, code: str, message: str) -> None:
        """Gives the function's failure."""
        self._given = HostCallFailed(self.function, code, message)
        self.wakeup.notify()

    def given(self) -> bool:
        """Returns whether there is an answer."""
        return self._given is not None

    def value(self) -> Any:
        """Returns the answer's value, or raises its failure."""
        if isinstance(self._given, HostCallFailed):
            raise self._given
        assert self._given is not None
        return decode(self._given)


class HostLink(Protocol):
    """How a host call reaches the host."""

    def send(self, call_id: int, reply: Reply, argument: bytes) -> int:
        """Sends a host call and returns its number."""

    def drop(self, host_call_id: int) -> None:
        """Tells the host that nobody waits for this one any more."""


class HostFunctions:
    """The functions of the host, as one call sees them."""

    def __init__(
        self, call_id: int, link: HostLink, cancellation: Cancellation
    ) -> None:
        self._call_id = call_id
        self._link = link
        self._cancellation = cancellation

    def call(self, function: str, argument: object) -> Any:
        """Calls a function and blocks this thread until it has answered."""
        self._cancellation.raise_if_requested()
        reply = Reply(function)
        number = self._link.send(self._call_id, reply, encode(argument))
        self._cancellation.watch(reply.wakeup)
        try:
            reply.wakeup.wait(self._cancellation.or_requested(reply.given))
            if not reply.given():
                self._cancellation.raise_if_requested()
            return reply.value()
        finally:
            self._cancellation.forget(reply.wakeup)
            if not reply.given():
                self._link.drop(number)

    async def call_async(self, function: str, argument: object) -> Any:
        """Calls a function and suspends this coroutine until it has answered."""
        reply = Reply(function)
        number = self._link.send(self._call_id, reply, encode(argument))
        try:
            await reply.wakeup.wait_async(reply.given)
            return reply.value()
        finally:
            if not reply.given():
                self._link.drop(number)
