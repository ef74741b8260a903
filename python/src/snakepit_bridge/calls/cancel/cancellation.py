"""A call's cancellation: the request, the exception that the tool sees, and how waiting
code is woken.
"""

from __future__ import annotations

import time

# The class behind `queue`'s, which imports more than this module needs.
from _queue import SimpleQueue
from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio

    from snakepit_bridge.calls.cancel.cancel_reason import CancelReason


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
            from snakepit_bridge.calls.cancel.cancel_reason import CancelReason

            reason = CancelReason.CALLER
        super().__init__(f"the call was cancelled: {reason.value}")
        self.reason = reason


class Wakeup:
    """Wakes the one thread or coroutine that waits; works without locks.

    The side that waits first sets how to be woken, then checks the condition. The side
    that wakes first changes the condition, then notifies. So neither can miss the
    other. A lock could be held when `CallCancelled` is raised.

    Several threads may notify at once. Each wait has a list of its own with one
    callback in it: a late notification empties a list that is no longer used.
    """

    __slots__ = ("_ways",)

    def __init__(self) -> None:
        self._ways: list[Callable[[], None]] = []

    def notify(self) -> None:
        """Wakes the waiting side after the condition was changed; from any thread."""
        try:
            wake = self._ways.pop()
        except IndexError:
            return
        wake()

    def wait(self, ready: Callable[[], bool]) -> None:
        """Blocks this thread until `ready`."""
        token: SimpleQueue[None] = SimpleQueue()
        while not ready():
            self._ways = [lambda: token.put(None)]
            if ready():
                break
            # This waits in C and is called from here, so a signal meanwhile raises
            # nothing.
            token.get()

    async def wait_async(self, ready: Callable[[], bool]) -> None:
        """Suspends this coroutine until `ready`."""
        # Loaded already: this is a coroutine.
        import asyncio

        loop = asyncio.get_running_loop()
        while not ready():
            future: asyncio.Future[None] = loop.create_future()
            self._ways = [_resolver(loop, future)]
            if ready():
                break
            await future

    def park(self, ready: Callable[[], bool], resume: Callable[[], None]) -> bool:
        """Makes `notify` call `resume` once.

        Returns:
            False if it is ready now; `resume` may be called nevertheless.
        """
        self._ways = [resume]
        return not ready()


def _resolver(
    loop: asyncio.AbstractEventLoop, future: asyncio.Future[None]
) -> Callable[[], None]:
    def resolve() -> None:
        if not future.done():
            future.set_result(None)

    def wake() -> None:
        try:
            loop.call_soon_threadsafe(resolve)
        except RuntimeError:
            # The loop is closed: nothing is waiting.
            pass

    return wake


# A tool that handles its cancellation is not interrupted again for this long. It may
# wait for ever for a process or for the threads of a pool.
CLEAN_UP_S = 1.0


class Cancellation:
    """Whether a call was cancelled, and the code that waits on its behalf.

    Attributes:
        reason: why it was cancelled; None if it was not.
        by_signal: whether the cancel signal raises `CallCancelled` in the main
            thread while that runs code of this call.
        looks: how often the handler of that signal was called since it was sent.
        last_look: how many signals were sent then, and where the code was; None if
            that is of no use.
    """

    # Attributes of the class until they change: each call has one of these objects, and
    # few calls change it.
    reason: CancelReason | None = None
    by_signal = False
    looks = 0
    last_look: tuple[int, tuple[int, int]] | None = None
    _undisturbed_until = 0.0

    def __init__(self) -> None:
        self._waiting: list[Wakeup] = []

    def request(self, reason: CancelReason) -> None:
        """Cancels the call and wakes waiting code; in the bridge's thread."""
        if self.reason is None:
            self.leave_alone()
            self.reason = reason
        for wakeup in list(self._waiting):
            wakeup.notify()

    def raise_if_requested(self) -> None:
        """Raises `CallCancelled` if the call was cancelled."""
        if self.reason is not None:
            raise CallCancelled(self.reason)

    def leave_alone(self) -> None:
        """Begins the time in which a clean-up is not interrupted."""
        self._undisturbed_until = time.monotonic() + CLEAN_UP_S

    def may_clean_up(self) -> bool:
        """Returns whether a clean-up must not be interrupted yet."""
        return time.monotonic() < self._undisturbed_until

    def watch(self, wakeup: Wakeup) -> None:
        """Notifies a wakeup when the call is cancelled."""
        self._waiting.append(wakeup)

    def forget(self, wakeup: Wakeup) -> None:
        """Stops notifying a wakeup."""
        self._waiting.remove(wakeup)

    def or_requested(self, ready: Callable[[], bool]) -> Callable[[], bool]:
        """Returns a condition: `ready`, or the call was cancelled."""
        return lambda: ready() or self.reason is not None
