"""Host calls, by way of the call table."""

from __future__ import annotations

from snakepit_bridge.boot import forked_copy
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.calls.host_functions import HostCallFailed, Reply
from snakepit_bridge.telemetry.tracing import Tracing

__all__ = ["HostLink"]

# What surrounds a value in its frame, at most.
FRAME_ROOM = 1024


class HostLink:
    """How a tool's host call reaches the host."""

    def __init__(self, calls: CallTable, tracing: Tracing | None) -> None:
        self._calls = calls
        self._tracing = tracing

    def send(self, call_id: int, reply: Reply, argument: bytes) -> int:
        """Sends a host call and returns its number.

        Raises:
            HostCallFailed: it is too large, its call is over, or this is a copy of
                the worker.
        """
        if forked_copy.this_is_one:
            raise HostCallFailed(
                reply.function,
                "FORKED_COPY",
                "this process was forked by a tool, and the connection to the host is "
                "the worker's; ask the host in the tool itself",
            )
        limit = self._calls.max_message_bytes
        carrier = self._tracing.carrier() if self._tracing is not None else {}
        around = len(reply.function) + sum(map(len, carrier.values())) + FRAME_ROOM
        if len(argument) + around > limit:
            raise HostCallFailed(
                reply.function,
                "ARGUMENT_TOO_LARGE",
                f"the argument has {len(argument)} bytes, the limit of one message "
                f"is {limit}; send less, or raise maxMessageBytes",
            )
        if self._calls.get(call_id) is None:
            raise HostCallFailed(reply.function, "CALL_OVER", "its call is over")
        return self._calls.send_host_call(call_id, reply, argument, carrier)

    def drop(self, host_call_id: int) -> None:
        """Tells the host that nobody waits for this one any more."""
        self._calls.drop_host_call(host_call_id)
