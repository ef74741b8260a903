"""The parts of a worker that gRPC serves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from snakepit_bridge.boot.launch_message import Launch
from snakepit_bridge.bridge.answers import Answers
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.bridge.conversation import Conversation
from snakepit_bridge.bridge.grpc_transport.outbox import GrpcOutbox
from snakepit_bridge.bridge.grpc_transport.server import GrpcTransport
from snakepit_bridge.bridge.outbox_guard import OutboxGuard
from snakepit_bridge.calls.waiting_main_thread import WaitingMainThread

__all__ = ["GrpcWiring"]


class GrpcWiring:
    """A `Wiring`: only the bridge's thread speaks with the host."""

    def __init__(self) -> None:
        self.outbox = GrpcOutbox()
        self.main = WaitingMainThread()

    def bridge_loop(self) -> asyncio.AbstractEventLoop:
        """Returns a loop for the bridge's thread."""
        return asyncio.new_event_loop()

    def transport(
        self,
        launch: Launch,
        loop: asyncio.AbstractEventLoop,
        conversation: Conversation,
        calls: CallTable,
        answers: Answers,
        on_host_left: Callable[[bool], None],
    ) -> GrpcTransport:
        """Returns the gRPC server."""
        guard = OutboxGuard(loop, self.main.gathering)
        self.main.gathering.begin(self.outbox, lambda: len(calls) > 1, guard.watch)
        self.outbox.attach(loop, launch.max_message_bytes)
        return GrpcTransport(
            launch, conversation, calls, answers, self.outbox, on_host_left
        )
