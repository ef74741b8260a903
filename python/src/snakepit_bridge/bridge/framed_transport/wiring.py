"""The parts of a worker that speaks frames on the socket itself."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable

from snakepit_bridge.boot.launch_message import Launch
from snakepit_bridge.bridge.answers import Answers
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.bridge.conversation import Conversation
from snakepit_bridge.bridge.framed_transport.outbox import FramedOutbox
from snakepit_bridge.bridge.framed_transport.server import FramedTransport
from snakepit_bridge.bridge.outbox_guard import OutboxGuard
from snakepit_bridge.bridge.shared_reading.shared_reading import SharedReading

__all__ = ["FramedWiring"]


class FramedWiring:
    """A `Wiring` whose frames travel on the socket itself."""

    def __init__(self) -> None:
        self.outbox = FramedOutbox()
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
    ) -> FramedTransport:
        """Returns what listens on the socket."""
        guard = OutboxGuard(loop, self.main.gathering)
        self.main.gathering.begin(self.outbox, lambda: len(calls) > 1, guard.watch)
        return FramedTransport(
            launch,
            loop,
            conversation,
            calls,
            answers,
            self.outbox,
            on_host_left,
            functools.partial(self._reading.begin, loop),
        )
