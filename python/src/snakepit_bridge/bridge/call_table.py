"""The calls of this worker, from their frame to their terminal frame."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

from snakepit_bridge import frames
from snakepit_bridge.boot import forked_copy
from snakepit_bridge.bridge.transport import Outbox
from snakepit_bridge.calls.memory.call_page import CallPage
from snakepit_bridge.calls.run.running_call import CallState, RunningCall
from snakepit_bridge.failures.failure import end_worker
from snakepit_bridge.threads.bridge_loop import LoopWakeup, call_soon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
    from snakepit_bridge.calls.context.host_calls import Reply
    from snakepit_bridge.calls.memory.call_page import BegunMarks
    from snakepit_bridge.calls.memory.shared_memory import SharedMemory
    from snakepit_bridge.calls.run.running_call import TerminalFrame
    from snakepit_bridge.frames import WorkerFrame
    from snakepit_bridge.telemetry.tracing import Tracing
    from snakepit_bridge.threads.bridge_loop import Loop

# A cancellation can get lost inside the tool; then it is sent again.
INTERRUPT_AGAIN_S = 0.02
# The most bytes around the argument of a host call in its frame.
FRAME_ROOM = 1024


class CallTable:
    """The calls under way, and the host calls that they wait for.

    Attributes:
        running: the calls that are not over, by their number.
        outbox: where frames wait for the host.
        max_message_bytes: the limit of one message.
        shared_memory: where large values are handed over; None where they are sent.
        tracing: begins spans; None where there is no OpenTelemetry.
        replies: what waits for host calls, with the number of its call.
        on_forgotten: called after each call, in whichever thread forgets it.
        page: where the worker notes which calls it begins; None without shared memory.
    """

    def __init__(
        self,
        outbox: Outbox,
        max_message_bytes: int,
        shared_memory: SharedMemory | None = None,
        tracing: Tracing | None = None,
        page: CallPage | BegunMarks | None = None,
    ) -> None:
        self.running: dict[int, RunningCall] = {}
        self.max_message_bytes = max_message_bytes
        self.shared_memory = shared_memory
        self.tracing = tracing
        self.page = page
        # Called with each call that is over, in whichever thread that happens.
        self.on_over: Callable[[RunningCall], None] | None = None
        # Takes a call out of the queue in which it waits, if it is in one; returns False
        # if it has left the queue.
        self.withdraw: Callable[[RunningCall], bool] = lambda _: True
        self.outbox = outbox
        self._keep = page.keep if isinstance(page, CallPage) else None
        self.replies: dict[int, tuple[int, Reply]] = {}
        self._numbers = itertools.count(1)
        self._loop: Loop | None = None
        self._bridge = 0
        self.on_forgotten: Callable[[], None] | None = None

    # ------------------------------------------------ in the thread that reads

    def attach(self, loop: Loop) -> None:
        """Sets the loop of the bridge's thread, in that thread."""
        self._loop = loop
        self._bridge = threading.get_ident()

    def cancel(self, call_id: int, reason: CancelReason) -> None:
        """Cancels a call, unless it is unknown or over; from any thread."""
        if threading.get_ident() != self._bridge:
            # The bridge's thread repeats it until the call is over.
            self._in_bridge(lambda: self.cancel(call_id, reason))
            return
        running = self.running.get(call_id)
        if running is not None and running.cancellation.reason is None:
            running.cancel(reason)
            self._interrupt(call_id)

    def cancel_all(self, reason: CancelReason) -> None:
        """Cancels every call."""
        for call_id in list(self.running):
            self.cancel(call_id, reason)

    async def settled(self, timeout: float) -> bool:
        """Waits until no call is left; returns whether that happened in time."""
        if self._loop is None:
            return not self.running
        settled = LoopWakeup(self._loop)
        self.after_each_call(settled.notify)
        return await settled.wait(lambda: not self.running, timeout)

    def reply(self, host_call_id: int) -> Reply | None:
        """Removes and returns the object that waits for the answer to a host call."""
        _, reply = self.replies.pop(host_call_id, (0, None))
        return reply

    def _give_up(self, call_id: int) -> None:
        """Fails the host calls of a call that is over."""
        for number, (owner, reply) in list(self.replies.items()):
            if owner == call_id:
                self.drop_host_call(number)
                reply.call_over()

    def _interrupt(self, call_id: int) -> None:
        # Not the call itself: if a timer kept the last reference to a call of a
        # session, the session's objects would be freed here, in the bridge's thread.
        running = self.running.get(call_id)
        if running is None or running.state is CallState.ENDED or self._loop is None:
            return
        if running.state is CallState.RUNNING:
            running.interrupt()
        self._loop.call_later(INTERRUPT_AGAIN_S, self._interrupt, call_id)

    # ------------------------------------------------ in any thread

    def after_each_call(self, action: Callable[[], None]) -> None:
        """Adds `action` to the actions that run when a call has been removed."""
        before = self.on_forgotten

        def on_forgotten() -> None:
            if before is not None:
                before()
            action()

        self.on_forgotten = on_forgotten

    def send(self, frame: WorkerFrame) -> None:
        """Sends a frame."""
        self.outbox.put(frame)

    def settle(self, call_id: int, frame: TerminalFrame) -> None:
        """Sends the terminal frame of a call and removes the call."""
        outbox = self.outbox
        if outbox.held and self._keep is not None:
            # It waits only in memory that the host can read, whatever the next call
            # does.
            outbox.held = type(frame) is bytes and self._keep(frame)
        try:
            outbox.put_last(frame)
        except MemoryError:
            # In a thread of a tool, nobody would notice.
            end_worker()
        finally:
            # After the frame: a worker that leaves exits when no call is left.
            running = self.running.pop(call_id, None)
        if running is not None and self.on_over is not None:
            self.on_over(running)
        self.follow_up(call_id)

    def follow_up(self, call_id: int) -> None:
        """Runs the remaining actions when a call has been removed."""
        if self.replies:
            self._in_bridge(lambda: self._give_up(call_id))
        if self.on_forgotten is not None:
            self.on_forgotten()

    def later(self, delay_s: float, callback: Callable[[], None]) -> None:
        """Calls back in the bridge's thread after some seconds."""
        loop = self._loop
        if loop is not None:
            call_soon(loop, lambda: loop.call_later(delay_s, callback))

    def send_host_call(self, call_id: int, reply: Reply, argument: bytes) -> int:
        """Sends a host call on behalf of a call, and returns its number.

        Raises:
            HostCallFailed: it is too large, its call is over, or this process is a
                copy of the worker.
        """
        carrier: dict[str, str] = {}
        if self.tracing is not None:
            span = reply.span = self.tracing.begin_host_call(reply.function)
            carrier = (self.tracing if span is None else span).carrier()
        self._check_host_call(call_id, reply, argument, carrier)
        number = next(self._numbers)
        self.replies[number] = (call_id, reply)
        self.outbox.put(
            frames.HostCall(number, call_id, reply.function, argument, carrier)
        )
        if call_id not in self.running:
            # It ended in another thread, which may not have seen a reply to cancel.
            self._in_bridge(lambda: self._give_up(call_id))
        return number

    def drop_host_call(self, host_call_id: int) -> None:
        """Notifies the host that nothing waits for this host call any longer."""
        if self.replies.pop(host_call_id, None) is not None:
            self.outbox.put(frames.HostCallCancel(host_call_id))

    def _check_host_call(
        self, call_id: int, reply: Reply, argument: bytes, carrier: dict[str, str]
    ) -> None:
        from snakepit_bridge.calls.context.host_calls import CALL_OVER, HostCallFailed

        function = reply.function
        if forked_copy.this_is_one:
            raise HostCallFailed(
                function,
                "FORKED_COPY",
                "this process was forked by a tool, and the connection to the host is "
                "the worker's; call the host in the tool itself",
            )
        limit = self.max_message_bytes
        around = len(function) + sum(map(len, carrier.values())) + FRAME_ROOM
        if len(argument) + around > limit:
            raise HostCallFailed(
                function,
                "ARGUMENT_TOO_LARGE",
                f"the argument has {len(argument)} bytes, the limit of one message "
                f"is {limit}; send less, or raise maxMessageBytes",
            )
        if call_id not in self.running:
            raise HostCallFailed(function, CALL_OVER, "its call is over")

    def _in_bridge(self, callback: Callable[[], None]) -> None:
        if self._loop is not None:
            call_soon(self._loop, callback)
