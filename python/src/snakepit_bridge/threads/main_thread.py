"""The main thread, where tools run: an event loop, and work outside of it.

Synchronous tools run between two turns of the loop and not within one, so that
`asyncio.run` inside of them works as in any script. While the thread has nothing else
to do it reads the host's frames itself: a hand-over between two Python threads costs
more than the way to the host and back, so a small call is read, run and answered here.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

from snakepit_bridge.bridge_log import logger
from snakepit_bridge.own_imports import isolated, loaded, spare_descriptors
from snakepit_bridge.threads.bridge_loop import SelectorWaker
from snakepit_bridge.threads.shared_reading import SharedSelector
from snakepit_bridge.threads.write_coalescer import WriteCoalescer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from snakepit_bridge.threads.tool_loop import ToolLoop

# The first chore waits for so long: where calls wait for the worker, they come at once.
FIRST_CHORE_S = 0.01
# A chore is followed by a pause that is so many times as long: workers that start
# together leave the processors to those that are not ready.
PAUSE = 4
# How long one that is not possible now is put off.
PUT_OFF_S = 0.1


class _Chores:
    """What the main thread does while it has nothing else to do, a step at a time, and
    while no call runs in another thread: what the call takes, a step may lack."""

    def __init__(
        self, steps: Iterator[bool], now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._steps = steps
        self._lock = threading.Lock()
        self._calls = 0
        self._now_s = now_s
        self._next_s = now_s() + FIRST_CHORE_S

    def wait(self, timeout: float | None) -> float:
        """Returns how long to wait for other work."""
        left = max(0.0, self._next_s - self._now_s())
        return left if timeout is None else min(timeout, left)

    def step(self) -> bool:
        """Does a step if it is time for one; returns whether there are more."""
        begin = self._now_s()
        if begin < self._next_s:
            return True
        with self._lock:
            done = self._calls == 0 and next(self._steps, None)
        end = self._now_s()
        self._next_s = end + (PAUSE * (end - begin) if done else PUT_OFF_S)
        return done is not None

    def begin_call(self) -> None:
        """Waits for the step that is being done, and puts off others until `end_call`."""
        with self._lock:
            self._calls += 1

    def end_call(self) -> None:
        """Ends what `begin_call` began."""
        with self._lock:
            self._calls -= 1


class _TurnOver(BaseException):
    """Leaves the loop where it would wait, in place of `stop`, which any code that runs
    the loop takes as its own: a tool that calls `run_until_complete`, also within
    another run of it (nest_asyncio)."""


class _TurnSelector(SharedSelector):
    """Where the loop would wait, ends its turn, or waits as well."""

    def __init__(self, main: MainThread) -> None:
        super().__init__()
        self._main = main

    def select(self, timeout: float | None = None) -> list[tuple[Any, int]]:
        main = self._main
        if not main._is_turning:
            # A tool or a hook runs the loop.
            return super().select(timeout)
        main._is_idle = main._wants_turn = False
        main.coalescer.end_turn(main.one_at_a_time and timeout == 0)
        # Looked at here, since sending over gRPC also reads.
        has_work = main._work or main._stopping
        if (main._waits_in_loop and not has_work) or _is_within_turn():
            chores = main._chores
            if chores is None or not main._is_free() or _is_within_turn():
                ready = super().select(0 if main._wants_turn else timeout)
            else:
                ready = super().select(chores.wait(timeout))
                if not ready and main._is_free():
                    main._do_chore(chores)
            main.coalescer.begin_turn()
            return ready
        # Each turn lets the loop do something, however much work there is.
        if has_work and main._has_turned:
            raise _TurnOver
        main._has_turned = True
        ready = super().select(0)
        if not (ready or main._wants_turn or timeout == 0):
            main._idle_until = None if timeout is None else time.monotonic() + timeout
            main._is_idle = True
            raise _TurnOver
        main.coalescer.begin_turn()
        return ready


def _is_within_turn() -> bool:
    """Returns whether a callback of the turn runs the loop, and not the turn itself."""
    frame: FrameType | None = sys._getframe(2)
    runs = 0
    while frame is not None and frame.f_code is not _TURN:
        runs += frame.f_code.co_name == "_run_once"
        frame = frame.f_back
    # The stack of a greenlet does not lead to the turn.
    return runs > 1 or frame is None


class MainThread:
    """Waits for the host and for the tools' loop at the same time, and runs their work.

    Attributes:
        selector: what the thread waits with; shares the host's descriptors.
        coalescer: holds the frames of one turn together.
        one_at_a_time: whether a call begins when the one before is over, and not sooner.
    """

    def __init__(self) -> None:
        """Must be called in the main thread."""
        self.coalescer = WriteCoalescer()
        self.selector = _TurnSelector(self)
        self.one_at_a_time = False
        self._is_turning = False
        # To leave the loop and enter it again takes longer than a small call: the
        # thread waits where it ran the last call.
        self._waits_in_loop = False
        self._is_idle = False
        # Whether the loop has had its share of this turn.
        self._has_turned = False
        # When the loop needs its next turn, on the monotonic clock; None if only an
        # event wakes it.
        self._idle_until: float | None = None
        # Until there is a loop, whose own descriptor wakes this thread.
        self._waker = SelectorWaker(self.selector)
        self._tool_loop: ToolLoop | None = None
        # Whether a turn of the loop may have something to do.
        self._wants_turn = False
        self._work: deque[Callable[[], None]] = deque()
        # Callbacks that add to the loop, in the order of their arrival.
        self._for_loop: deque[Callable[[], None]] = deque()
        self._chores: _Chores | None = None
        self._stopping = False
        self._ident = threading.get_ident()

    @property
    def loop(self) -> ToolLoop:
        """The event loop of asynchronous tools and hooks. It is created on first use,
        which must be in the main thread.
        """
        if self._tool_loop is None:
            from snakepit_bridge.threads.tool_loop import ToolLoop

            self._tool_loop = ToolLoop(self.selector, self._want_turn)
            self._waker.close()
            self._want_turn()
        return self._tool_loop

    def keep_loop_current(self) -> None:
        """Makes `asyncio.get_event_loop()` work in the next call, as it did in the one
        that is over: `asyncio.run` leaves a thread without a loop.
        """
        if self._tool_loop is not None:
            self._tool_loop.stay_current()
        elif loaded("asyncio") is not None:
            # Tools have just imported it. There may be no descriptor for it, and no
            # environment any more; then they do without.
            spare = spare_descriptors()
            with suppress(OSError, ImportError), isolated(imports=True), spare:
                self.loop  # noqa: B018 - it is made here

    def run_beside(self, call: Callable[[], None]) -> None:
        """Runs a call in the current thread, which is another one."""
        chores = self._chores
        if chores is None:
            call()
            return
        chores.begin_call()
        try:
            call()
        finally:
            chores.end_call()

    def run(self, chores: Iterator[bool] | None = None) -> None:
        """Runs until `stop`, whatever user code does to the loop.

        Args:
            chores: what is done in steps while there is no work; a step that was not
                possible yields False.
        """
        self._chores = None if chores is None else _Chores(chores)
        self.keep_loop_current()
        while not self._stopping:
            try:
                if self._wants_turn:
                    self._turn()
                self._do_work()
                self._wait()
            except (SystemExit, KeyboardInterrupt):
                # From a signal handler, anywhere in this thread; calls catch theirs.
                logger(__name__).exception("a signal's handler tried to end the worker")
                self.coalescer.outbox.held = False
                self._wants_turn = self._tool_loop is not None

    def submit(self, work: Callable[[], None]) -> None:
        """Makes the main thread do work outside of the loop; from any thread."""
        self._waits_in_loop = False
        self._work.append(work)
        if threading.get_ident() != self._ident:
            self._wake()
        # In this thread it was read within a turn of the loop, which ends for it.

    def submit_to_loop(self, callback: Callable[[], None]) -> None:
        """Schedules a callback that adds to the loop, which must exist; from any
        thread.
        """
        self._waits_in_loop = True
        # Even if called in this thread: earlier callbacks may still wait.
        self._for_loop.append(callback)
        if threading.get_ident() != self._ident:
            self.loop.call_soon_threadsafe(self._add_to_loop)
        elif self.loop.get_task_factory() is None:
            self._add_to_loop()
        else:
            # The tools' own task factory may run their code, which needs a turn.
            self.loop.call_soon(self._add_to_loop)

    def stop(self) -> None:
        """Makes `run` return; from any thread."""
        self._stopping = True
        self._wake()

    def complete(self, returned: Any) -> None:
        """Awaits what a hook returned, if it can be awaited."""
        if not isinstance(returned, Awaitable):
            return
        task = self.loop.create_task(_awaited(returned))
        task.add_done_callback(lambda _: self.loop.stop())
        # Not run_until_complete: a hook may have left a stop of its own.
        while not task.done():
            self.loop.run_forever()
        task.result()

    def close(self) -> None:
        """Cancels the remaining tasks of the loop, and closes it and the selector."""
        if self._tool_loop is None:
            self._waker.close()
            self.selector.close()
            return
        self.complete(self.loop.end_tasks())
        self.loop.close()

    def _want_turn(self) -> None:
        self._wants_turn = True

    def _wake(self) -> None:
        # After the change that the thread must see: it creates the loop before it
        # checks.
        loop = self._tool_loop
        if loop is None:
            self._waker.wake()
        else:
            loop.call_soon_threadsafe(_nothing)

    def _is_free(self) -> bool:
        return not (self._wants_turn or self._work)

    def _do_chore(self, chores: _Chores) -> None:
        # Whoever waits for this thread sees that it is not stuck.
        self.coalescer.progress += 1
        if not chores.step():
            self._chores = None

    def _add_to_loop(self) -> None:
        while self._for_loop:
            self._for_loop.popleft()()

    def _turn(self) -> None:
        """Runs the loop until it would wait."""
        self._is_turning = True
        self._has_turned = False
        try:
            self.loop.run_forever()
        except _TurnOver:
            pass
        except (SystemExit, KeyboardInterrupt):
            logger(__name__).exception(
                "a task, callback or signal's handler tried to end the worker"
            )
            self._is_idle = False
        finally:
            self._is_turning = False
            self.coalescer.release()
        if not self._is_idle:
            # It was stopped by work or by user code.
            self._wants_turn = True

    def _do_work(self) -> None:
        work = self._work
        coalescer = self.coalescer
        while work and not self._stopping:
            item = work.popleft()
            if work and not self.one_at_a_time:
                coalescer.hold()
            else:
                coalescer.outbox.held = False
            item()
            coalescer.progress += 1
        # Also sends frames that a tool left for the bridge's thread.
        outbox = coalescer.outbox
        if outbox.held:
            coalescer.release()
        else:
            outbox.flush()

    def _wait(self) -> None:
        """Waits until there is work, or the loop wants a turn."""
        while not (self._work or self._wants_turn or self._stopping):
            until = self._idle_until
            timeout = None if until is None else max(0.0, until - time.monotonic())
            chores = self._chores
            if chores is not None:
                timeout = chores.wait(timeout)
            if self.selector.wait(timeout):
                if self._tool_loop is None:
                    self._waker.clear()
                else:
                    self._wants_turn = True
            if chores is not None and not self._work:
                self._do_chore(chores)
        self.coalescer.progress += 1


_TURN = MainThread._turn.__code__


def _nothing() -> None:
    """Only wakes the loop."""


async def _awaited(awaitable: Awaitable[object]) -> None:
    await awaitable
