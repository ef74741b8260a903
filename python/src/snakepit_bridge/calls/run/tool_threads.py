"""Threads for synchronous tools, in a worker that runs several calls at a time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextvars import Context
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from snakepit_bridge.calls.cancel.cancellation import CallCancelled
from snakepit_bridge.calls.cancel.thread_interrupt import InterruptibleThread
from snakepit_bridge.calls.run.run_tool import GeneratorRun, run_function
from snakepit_bridge.calls.run.running_call import AwaitLater, RunningCall
from snakepit_bridge.failures.failure import end_worker

if TYPE_CHECKING:
    from snakepit_bridge.calls.run.running_call import TerminalFrame


def run_in_thread(
    running: RunningCall,
    context: Context,
    await_later: Callable[[RunningCall, Context, Any], None],
) -> None:
    """Runs the whole call of a synchronous tool in this thread; `await_later` ends one that
    has returned an awaitable.
    """
    thread = InterruptibleThread(running.cancellation)
    running.cancellation.by_signal = False
    running.interrupt = thread.interrupt
    running.shield = thread.disarm
    if not running.begin():
        thread.disarm()
        return
    frame: TerminalFrame | AwaitLater | None = None
    try:
        try:
            frame = context.run(_run_blocking, running)
        except CallCancelled:
            # Raised in the bridge's own code, after the tool.
            thread.disarm()
        thread.disarm()
    except CallCancelled:
        thread.disarm()
    if isinstance(frame, AwaitLater):
        await_later(running, context, frame.awaitable)
    else:
        running.settle(frame or running.failed(CallCancelled()))


def _run_blocking(running: RunningCall) -> TerminalFrame | AwaitLater | None:
    credit = running.credit
    if credit is None:
        return run_function(running, perf_counter_ns())

    def pause(ready: Callable[[], bool]) -> bool:
        credit.wakeup.wait(ready)
        return True

    return GeneratorRun(running, credit).advance(pause)


class ToolThreads:
    """As many threads as calls may run concurrently; each is started when it is needed."""

    def __init__(self, most: int, run: Callable[[Callable[[], None]], None]) -> None:
        """Has at most `most` threads, which do work by `run`."""
        self._most = most
        self._run_work = run
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()

    def submit(self, work: Callable[[], None]) -> None:
        """Runs work in one of the threads; may be called in any thread."""
        self._work.put(work)
        if len(self._threads) < self._most and not self._idle.acquire(blocking=False):
            self._add_thread()

    def _add_thread(self) -> None:
        with self._lock:
            number = len(self._threads)
            if number == self._most:
                return
            # A daemon thread, so that a tool that never ends does not keep the worker
            # running.
            name = f"tool-{number}"
            thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._threads.append(thread)
        try:
            thread.start()
        except (RuntimeError, MemoryError):
            # The system gives no more now. Those that there are take the work.
            self._threads.remove(thread)
            if not self._threads:
                raise

    def _run(self) -> None:
        while True:
            work = self._work.get()
            try:
                self._run_work(work)
            except BaseException:  # noqa: BLE001 - no memory: this thread would be gone
                end_worker()
            self._idle.release()
