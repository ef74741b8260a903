"""The calls of this worker, from their frame to their terminal frame."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.call_soon import call_soon
from snakepit_bridge.bridge.transport import Outbox
from snakepit_bridge.calls.cancelled import CancelReason
from snakepit_bridge.calls.host_functions import Reply
from snakepit_bridge.calls.running_call import CallState, RunningCall
from snakepit_bridge.calls.shared_memory import SharedMemory

__all__ = ["CallTable"]

# A cancellation can get lost inside the tool; then it is sent again.
INTERRUPT_AGAIN_S = 0.02


class CallTable:
    """What runs, and what the host was asked on behalf of it.

    Attributes:
        max_message_bytes: the limit of one message.
        shared_memory: where large values are handed over; None where they are sent.
    """

    def __init__(
        self,
        outbox: Outbox,
        max_message_bytes: int,
        shared_memory: SharedMemory | None = None,
    ) -> None:
        self.max_message_bytes = max_message_bytes
        self.shared_memory = shared_memory
        self._outbox = outbox
        self._calls: dict[int, RunningCall] = {}
        self._replies: dict[int, tuple[int, Reply]] = {}
        self._numbers = itertools.count(1)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._bridge = 0
        self._on_settled: Callable[[], None] | None = None

    def __len__(self) -> int:
        return len(self._calls)

    # ------------------------------------------------ in the thread that reads

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Names the loop of the bridge's thread, in that thread."""
        self._loop = loop
        self._bridge = threading.get_ident()

    def add(self, running: RunningCall) -> None:
        """Takes a call."""
        self._calls[running.call.call_id] = running

    def get(self, call_id: int) -> RunningCall | None:
        """Returns a call; None if it is unknown or over."""
        return self._calls.get(call_id)

    def cancel(self, call_id: int, reason: CancelReason) -> None:
        """Cancels a call; one that is unknown or over is left alone.

        From any thread: it is done in the bridge's, which repeats it.
        """
        if threading.get_ident() != self._bridge:
            if self._loop is not None:
                call_soon(self._loop, lambda: self.cancel(call_id, reason))
            return
        running = self._calls.get(call_id)
        if running is not None and running.call.cancel_reason is None:
            running.cancel(reason)
            self._interrupt(running)

    def cancel_all(self, reason: CancelReason) -> None:
        """Cancels every call."""
        for call_id in list(self._calls):
            self.cancel(call_id, reason)

    async def settled(self, timeout: float) -> bool:
        """Waits until no call is left; returns whether that is so in time."""
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        self._on_settled = lambda: call_soon(loop, over.set)
        deadline = loop.time() + timeout
        while self._calls:
            over.clear()
            try:
                await asyncio.wait_for(over.wait(), deadline - loop.time())
            except asyncio.TimeoutError:
                return not self._calls
        return True

    def reply(self, host_call_id: int) -> Reply | None:
        """Returns what waits for the answer to a host call, and forgets it."""
        _, reply = self._replies.pop(host_call_id, (0, None))
        return reply

    def _give_up(self, call_id: int) -> None:
        """Frees whoever waits for the host on behalf of a call that is over."""
        for number, (owner, reply) in list(self._replies.items()):
            if owner == call_id:
                self.drop_host_call(number)
                reply.failure("CALL_OVER", "its call is over")

    def _interrupt(self, running: RunningCall) -> None:
        if running.state is CallState.ENDED or self._loop is None:
            return
        if running.state is CallState.RUNNING:
            running.interrupt()
        self._loop.call_later(INTERRUPT_AGAIN_S, self._interrupt, running)

    # ------------------------------------------------ in any thread

    def send(self, frame: pb.WorkerFrame) -> None:
        """Sends a frame."""
        self._outbox.put(frame)

    def settle(self, call_id: int, frame: pb.WorkerFrame) -> None:
        """Sends the terminal frame of a call and forgets the call."""
        try:
            self._outbox.put_last(frame)
        finally:
            # In this order: a worker that leaves is gone when no call is left.
            self._calls.pop(call_id, None)
        if self._replies and self._loop is not None:
            call_soon(self._loop, lambda: self._give_up(call_id))
        if self._on_settled is not None:
            self._on_settled()

    def send_host_call(
        self, call_id: int, reply: Reply, argument: bytes, carrier: dict[str, str]
    ) -> int:
        """Sends a host call and returns its number."""
        number = next(self._numbers)
        self._replies[number] = (call_id, reply)
        host_call = pb.HostCall(
            host_call_id=number,
            call_id=call_id,
            function=reply.function,
            argument=argument,
            trace_context=carrier,
        )
        self._outbox.put(pb.WorkerFrame(host_call=host_call))
        if call_id not in self._calls and self._loop is not None:
            # It ended in another thread, which may have seen no reply to give up.
            call_soon(self._loop, lambda: self._give_up(call_id))
        return number

    def drop_host_call(self, host_call_id: int) -> None:
        """Tells the host that nobody waits for this one any more."""
        if self._replies.pop(host_call_id, None) is not None:
            drop = pb.HostCallCancel(host_call_id=host_call_id)
            self._outbox.put(pb.WorkerFrame(host_call_cancel=drop))
