"""What differs between the transports, chosen once at the start of a worker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from snakepit_bridge.boot.launch_message import Launch
from snakepit_bridge.bridge.answers import Answers
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.bridge.conversation import Conversation
from snakepit_bridge.bridge.transport import Outbox, Transport
from snakepit_bridge.calls.main_thread import MainThread

__all__ = ["Wiring", "wiring_of"]


class Wiring(Protocol):
    """The parts of a worker that depend on its transport.

    Attributes:
        outbox: where frames wait for the host, from before there is one.
        main: the main thread.
    """

    @property
    def outbox(self) -> Outbox:
        """Where frames wait for the host, from before there is one."""

    @property
    def main(self) -> MainThread:
        """The main thread, where tools live."""

    def bridge_loop(self) -> asyncio.AbstractEventLoop:
        """Returns a loop for the bridge's thread."""

    def transport(
        self,
        launch: Launch,
        loop: asyncio.AbstractEventLoop,
        conversation: Conversation,
        calls: CallTable,
        answers: Answers,
        on_host_left: Callable[[bool], None],
    ) -> Transport:
        """Returns what serves the host; `on_host_left` is called, in the bridge's
        thread, when the conversation ends: with True if it broke."""


def wiring_of(transport: str) -> Wiring:
    """Returns the parts for a transport; only its own modules are imported.

    To be called in the main thread.
    """
    if transport == "framed":
        from snakepit_bridge.bridge.framed_transport.wiring import FramedWiring

        return FramedWiring()
    from snakepit_bridge.bridge.grpc_transport.wiring import GrpcWiring

    return GrpcWiring()
