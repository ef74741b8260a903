"""A small event loop for the bridge's thread.

asyncio's loop, with its imports, takes a fifth of a worker's start and more than a
quarter of its memory. A worker needs it only if its tools do, or gRPC.
"""

from __future__ import annotations

import _socket as socket
import selectors
import time
from collections import deque
from collections.abc import Callable, Coroutine, Generator

from snakepit_bridge.bridge_log import logger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol
else:
    Protocol = object


class Timer(Protocol):
    """A callback that is due later."""

    def cancel(self) -> None:
        """Prevents it."""


class Waited(Protocol):
    """An object that one coroutine awaits, once."""

    def done(self) -> bool:
        """Returns whether it has its result."""

    def set_result(self, result: None, /) -> None:
        """Resumes the coroutine; in the loop's thread."""

    def __await__(self) -> Generator[Any, None, None]: ...


class Loop(Protocol):
    """An event loop. Only `call_soon_threadsafe` may be called in other threads."""

    def time(self) -> float:
        """Returns the time that `call_at` counts in, in seconds."""

    def call_soon_threadsafe(
        self, callback: Callable[..., object], /, *args: Any
    ) -> object:
        """Schedules a callback.

        Raises:
            RuntimeError: the loop is closed.
        """

    def call_later(
        self, delay: float, callback: Callable[..., object], /, *args: Any
    ) -> Timer:
        """Schedules a callback in so many seconds."""

    def call_at(
        self, when: float, callback: Callable[..., object], /, *args: Any
    ) -> Timer:
        """Schedules a callback at a time."""

    def add_reader(
        self, file: Any, callback: Callable[..., Any], /, *args: Any
    ) -> None:
        """Calls back whenever the descriptor, or what has one, is readable."""

    def remove_reader(self, file: Any, /) -> bool:
        """Ends that; returns whether there was anything to end."""

    def add_writer(
        self, file: Any, callback: Callable[..., Any], /, *args: Any
    ) -> None:
        """Calls back whenever it can be written to."""

    def remove_writer(self, file: Any, /) -> bool:
        """Ends that; returns whether there was anything to end."""

    def create_future(self) -> Waited:
        """Returns what a coroutine of this loop can await."""

    def create_task(self, coroutine: Coroutine[Any, Any, None], /) -> object:
        """Runs a coroutine beside others. Keep the result while it runs."""

    def run_until_complete(self, coroutine: Coroutine[Any, Any, None], /) -> Any:
        """Runs the loop until a coroutine has ended."""

    def close(self) -> None:
        """Closes the loop, which must not run."""


def call_soon(loop: Loop, callback: Callable[[], object]) -> None:
    """Schedules a callback, from any thread; does nothing if the loop is closed."""
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:
        # Closed: the worker has left.
        pass


class SelectorWaker:
    """Makes a selector return; from any thread, and from a signal handler."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        selector.register(self._reader, selectors.EVENT_READ)

    @property
    def descriptor(self) -> int:
        """The descriptor that is readable after `ring`."""
        return self._reader.fileno()

    def wake(self) -> None:
        """Wakes the thread; does nothing after `close`."""
        try:
            self._writer.send(b"\0")
        except OSError:
            # There are enough bytes already, or it is closed.
            pass

    def clear(self) -> None:
        """Takes back every ring so far; in the thread that waits."""
        try:
            self._reader.recv(4096)
        except BlockingIOError:
            pass

    def close(self) -> None:
        """Closes both ends; in the thread that waits."""
        self._selector.unregister(self._reader)
        self._reader.close()
        self._writer.close()


class LoopWakeup:
    """Lets one coroutine of a loop wait until a condition is true."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._waited: Waited | None = None

    def notify(self) -> None:
        """Makes the coroutine check again; from any thread, after the change."""
        call_soon(self._loop, self._wake)

    async def wait(
        self, ready: Callable[[], bool], timeout: float | None = None
    ) -> bool:
        """Waits until `ready`, at most so many seconds; returns whether it is."""
        loop = self._loop
        deadline = None if timeout is None else loop.time() + timeout
        while not ready():
            timer = None
            if deadline is not None:
                if loop.time() >= deadline:
                    return False
                timer = loop.call_at(deadline, self._wake)
            self._waited = loop.create_future()
            await self._waited
            if timer is not None:
                timer.cancel()
        return True

    def _wake(self) -> None:
        waited = self._waited
        if waited is not None and not waited.done():
            waited.set_result(None)


class _Callback:
    """A call that is due."""

    __slots__ = ("_args", "_function", "when")

    def __init__(
        self, function: Callable[..., object], args: tuple[Any, ...], when: float = 0.0
    ) -> None:
        self._function: Callable[..., object] | None = function
        self._args = args
        self.when = when

    def cancel(self) -> None:
        """Prevents the call."""
        self._function = None

    def __lt__(self, other: _Callback) -> bool:
        return self.when < other.when

    def run(self) -> None:
        """Calls. An error of one callback ends no other."""
        if self._function is None:
            return
        try:
            self._function(*self._args)
        except Exception:  # noqa: BLE001 - it is logged
            logger(__name__).exception("a callback of the bridge's loop failed")


class _Waited:
    """What one coroutine awaits."""

    def __init__(self) -> None:
        self._is_done = False
        self.resume: Callable[[], object] = lambda: None

    def done(self) -> bool:
        """Returns whether it has its result."""
        return self._is_done

    def set_result(self, _result: None) -> None:
        """Resumes the coroutine."""
        self._is_done = True
        self.resume()

    def __await__(self) -> Generator[_Waited, None, None]:
        if not self._is_done:
            yield self


class _Task:
    """A coroutine that runs beside others."""

    def __init__(self, coroutine: Coroutine[_Waited, None, None]) -> None:
        self._coroutine = coroutine

    def advance(self) -> None:
        """Runs it until it waits."""
        try:
            waited = self._coroutine.send(None)
        except StopIteration:
            return
        waited.resume = self.advance


class BridgeLoop:
    """See `Loop`."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        """Waits with this selector, and closes it."""
        self._selector = selector
        self._waker = SelectorWaker(selector)
        self._is_closed = False
        self._due: deque[_Callback] = deque()
        # Few, so that the next one is found by looking at all.
        self._timers: list[_Callback] = []
        # By descriptor: what reads and what writes.
        self._watched: dict[int, dict[int, _Callback]] = {}

    def time(self) -> float:
        """Returns the monotonic clock."""
        return time.monotonic()

    def call_soon_threadsafe(self, callback: Callable[..., object], *args: Any) -> None:
        """Schedules a callback, from any thread and from signal handlers.

        Raises:
            RuntimeError: the loop is closed.
        """
        if self._is_closed:
            raise RuntimeError("the loop is closed")
        self._due.append(_Callback(callback, args))
        self._waker.wake()

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any
    ) -> _Callback:
        """Schedules a callback in so many seconds."""
        return self.call_at(self.time() + delay, callback, *args)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any
    ) -> _Callback:
        """Schedules a callback at a time."""
        timer = _Callback(callback, args, when)
        self._timers.append(timer)
        return timer

    def add_reader(self, file: Any, callback: Callable[..., Any], *args: Any) -> None:
        """Calls back whenever the descriptor, or what has one, is readable."""
        self._watch(file, selectors.EVENT_READ, _Callback(callback, args))

    def remove_reader(self, file: Any) -> bool:
        """Ends that; returns whether there was anything to end."""
        return self._watch(file, selectors.EVENT_READ, None)

    def add_writer(self, file: Any, callback: Callable[..., Any], *args: Any) -> None:
        """Calls back whenever it can be written to."""
        self._watch(file, selectors.EVENT_WRITE, _Callback(callback, args))

    def remove_writer(self, file: Any) -> bool:
        """Ends that; returns whether there was anything to end."""
        return self._watch(file, selectors.EVENT_WRITE, None)

    def create_future(self) -> _Waited:
        """Returns what a coroutine of this loop can await."""
        return _Waited()

    def create_task(self, coroutine: Coroutine[Any, Any, None]) -> _Task:
        """Runs a coroutine beside others."""
        task = _Task(coroutine)
        self.call_soon_threadsafe(task.advance)
        return task

    def run_until_complete(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Runs the loop until a coroutine has ended; raises what that raises."""
        ended: list[BaseException | None] = []

        async def run() -> None:
            try:
                await coroutine
            except BaseException as error:  # noqa: BLE001 - it is raised below
                ended.append(error)
            else:
                ended.append(None)

        self.create_task(run())
        while not ended:
            self._turn()
        if ended[0] is not None:
            raise ended[0]

    def close(self) -> None:
        """Closes the loop and its selector."""
        self._is_closed = True
        self._waker.close()
        self._selector.close()

    def _turn(self) -> None:
        """Waits until a callback is due, and runs all that are due."""
        timers = self._timers
        timeout = 0.0 if self._due else None
        if timeout is None and timers:
            timeout = max(0.0, min(timer.when for timer in timers) - self.time())
        for key, events in self._selector.select(timeout):
            if key.fd == self._waker.descriptor:
                self._waker.clear()
            for event, callback in self._watched.get(key.fd, {}).items():
                if events & event:
                    self._due.append(callback)
        if timers:
            now = self.time()
            self._due.extend(sorted(filter(lambda timer: timer.when <= now, timers)))
            self._timers = [timer for timer in timers if timer.when > now]
        for _ in range(len(self._due)):
            self._due.popleft().run()

    def _watch(self, file: Any, event: int, callback: _Callback | None) -> bool:
        """Returns whether something else was called back before."""
        descriptor = file if isinstance(file, int) else file.fileno()
        callbacks = self._watched.get(descriptor, {})
        before = callbacks.pop(event, None)
        if before is not None:
            before.cancel()
        if callback is not None:
            callbacks[event] = callback
        if not callbacks:
            if self._watched.pop(descriptor, None) is not None:
                self._selector.unregister(descriptor)
        elif descriptor in self._watched:
            self._selector.modify(descriptor, sum(callbacks))
        else:
            self._selector.register(descriptor, sum(callbacks))
            self._watched[descriptor] = callbacks
        return before is not None
