"""Host calls: a tool calls a function that the host registered."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from snakepit_bridge.calls.cancel.cancellation import Wakeup
from snakepit_bridge.values.decode import decode

if TYPE_CHECKING:
    from snakepit_bridge.telemetry.tracing import HostCallSpan

CALL_OVER = "CALL_OVER"
# How many host calls of one call may be unanswered. The host holds their arguments.
MOST_HOST_CALLS = 64


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
    """The answer to one host call; set once, by the thread that reads.

    Attributes:
        span: that of the host call, while nothing has ended it; None without one.
    """

    span: HostCallSpan | None = None

    def __init__(self, function: str) -> None:
        self.function = function
        self.wakeup = Wakeup()
        self._answer: bytes | HostCallFailed | None = None

    def result(self, encoding: bytes) -> None:
        """Sets the encoding of what the function returned."""
        self._answer = encoding
        self.wakeup.notify()

    def failure(self, code: str, message: str) -> None:
        """Sets the function's failure."""
        self._answer = HostCallFailed(self.function, code, message)
        self.wakeup.notify()

    def call_over(self) -> None:
        """Notes that the call ended first, so that there is no answer."""
        self.failure(CALL_OVER, "its call is over")

    def is_answered(self) -> bool:
        """Returns whether there is an answer."""
        return self._answer is not None

    def is_call_over(self) -> bool:
        """Returns whether the call ended first."""
        return (
            isinstance(self._answer, HostCallFailed) and self._answer.code == CALL_OVER
        )

    def __enter__(self) -> Reply:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _: object) -> None:
        """Ends its span, if it has one, with what the host call raised."""
        span, self.span = self.span, None
        if span is not None:
            span.end(error)

    def value(self) -> Any:
        """Returns the answer's value, or raises its failure."""
        if isinstance(self._answer, HostCallFailed):
            raise self._answer
        assert self._answer is not None
        return decode(self._answer)


class HostCallSlots:
    """Lets a limited number of host calls of one call be unanswered; others wait.

    Works without locks, which could be held when `CallCancelled` is raised: taking out
    of a deque and appending to it are atomic.
    """

    def __init__(self) -> None:
        self._free: deque[None] = deque([None] * MOST_HOST_CALLS)
        self._waiting: deque[Wakeup] = deque()

    def take(self) -> bool:
        """Takes a slot, and returns whether there was one."""
        try:
            self._free.pop()
        except IndexError:
            return False
        return True

    def take_or_wait(self, wakeup: Wakeup) -> bool:
        """Takes a slot, or has `wakeup` notified when there may be one."""
        self._waiting.append(wakeup)
        # One may have been given back before this waited.
        return self.take()

    def leave(self, wakeup: Wakeup) -> None:
        """Waits no more; with or without a slot."""
        try:
            while True:
                self._waiting.remove(wakeup)
        except ValueError:
            pass
        # This one may have been notified of a slot that it does not need.
        if self._free:
            self._notify_next()

    def give_back(self) -> None:
        """Gives a slot back, for one that waits."""
        self._free.append(None)
        self._notify_next()

    def _notify_next(self) -> None:
        try:
            self._waiting.popleft().notify()
        except IndexError:
            pass


class CallHost(Protocol):
    """Where the host calls of a call go."""

    def send_host_call(self, call_id: int, reply: Reply, argument: bytes) -> int:
        """Sends a host call on behalf of a call, and returns its number."""

    def drop_host_call(self, host_call_id: int) -> None:
        """Notifies the host that nothing waits for this host call any more."""
