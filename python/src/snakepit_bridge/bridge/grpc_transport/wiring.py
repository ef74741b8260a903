"""The parts of a worker that gRPC serves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from snakepit_bridge.boot.launch_message import Launch
from snakepit_bridge.bridge.answers import Answers
from snakepit_bridge.bridge.call_soon import call_soon
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.bridge.conversation import Conversation
from snakepit_bridge.bridge.grpc_transport.outbox import GrpcOutbox
from snakepit_bridge.bridge.grpc_transport.server import GrpcTransport
from snakepit_bridge.bridge.grpc_transport.stepped_loop import SteppedLoop
from snakepit_bridge.bridge.outbox_guard import OutboxGuard
from snakepit_bridge.bridge.shared_reading.shared_reading import SharedReading

__all__ = ["GrpcWiring"]


class GrpcWiring:
    """A `Wiring` whose frames travel in messages of gRPC."""

    def __init__(self) -> None:
        self.outbox = GrpcOutbox()
        self._reading = SharedReading(self.outbox)
        self.main = self._reading.main

    def bridge_loop(self) -> asyncio.AbstractEventLoop:
        """Returns a loop for the bridge's thread."""
        return self._reading.bridge_loop()

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
        # Also of a single call: gRPC's loop is turned between two turns of the tools'.
        self.main.gathering.begin(self.outbox, lambda: len(calls) > 0, guard.watch)
        turned = SteppedLoop(loop, self._reading)
        self.outbox.attach(turned, launch.max_message_bytes)
        return GrpcTransport(
            launch,
            conversation,
            calls,
            answers,
            self.outbox,
            lambda broken: call_soon(loop, lambda: on_host_left(broken)),
            turned,
        )
