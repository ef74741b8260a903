"""The commonest call of an `async def`: a plain call whose tool may suspend."""

from __future__ import annotations

from snakepit_bridge.calls.cancel.cancel_signal import send_cancel_signal
from snakepit_bridge.calls.cancel.trampoline import drive, invoke
from snakepit_bridge.calls.run.plain_call import PlainCall
from snakepit_bridge.calls.run.run_tool import failure_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Literal

    from snakepit_bridge.calls.run.call_sink import TerminalFrame
    from snakepit_bridge.threads.main_thread import MainThread

__all__ = ["CoroutineCall"]


class CoroutineCall(PlainCall):
    """A plain call that runs in a task of the loop. From the moment at which it
    suspends, the task belongs to it alone.
    """

    is_coroutine = True
    # The task that belongs to it alone.
    _task: asyncio.Task[None] | None = None
    # The part that was interrupted last, its first step or the task.
    _interrupted: asyncio.Task[None] | Literal["nothing"] | None = "nothing"
    _main: MainThread

    def interrupt(self) -> None:
        """Cancels the task, once. The first step is left alone: it is over in a moment.
        If a cancel still has no effect at the second check, the call blocks the
        loop.
        """
        task = self._task
        if task is self._interrupted:
            if self.cancellation.by_signal:
                send_cancel_signal()
            return
        self._interrupted = task
        if task is not None:
            self.cancellation.by_signal = True
            self._main.submit_to_loop(self._cancel_task)

    def suspended(self, task: asyncio.Task[None], main: MainThread) -> None:
        """Notes that the task belongs to this call until it ends; in that task."""
        self._task, self._main = task, main
        if not self.is_wanted:
            # It was cancelled in its first step.
            self.interrupt()

    def over(self) -> None:
        """Drops its task, which refers to it."""
        self._task = None

    def _cancel_task(self) -> None:
        self.cancellation.by_signal = False
        # The call may have just ended.
        if self._task is not None:
            self._task.cancel()

    async def awaited_answer(self, begun_ns: int) -> TerminalFrame:
        """Like `answer`, for a coroutine."""
        try:
            positional, keywords = self._enter_plain(begun_ns)
            made = invoke(self.tool.function, *positional, **keywords)
            return self.result(await drive(made))
        except BaseException as error:  # noqa: BLE001 - sys.exit() ends the call only
            return failure_frame(self, error)
