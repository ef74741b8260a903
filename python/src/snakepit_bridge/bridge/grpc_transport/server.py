"""The gRPC transport: a server on the worker's socket, stepped by two threads."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import grpc
from grpc import aio

from snakepit_bridge.boot.launch_message import Launch
from snakepit_bridge.bridge.conversation import Conversation
from snakepit_bridge.bridge.grpc_transport.health import HEALTH_SERVICE, Health
from snakepit_bridge.bridge.grpc_transport.outbox import GrpcOutbox
from snakepit_bridge.bridge.grpc_transport.services import BRIDGE_SERVICE, Services
from snakepit_bridge.bridge.grpc_transport.stepped_loop import SteppedLoop
from snakepit_bridge.threads.main_thread import MainThread
from snakepit_bridge.threads.shared_reading import SharedReading

if TYPE_CHECKING:
    from snakepit_bridge.threads.bridge_loop import Loop

# Time to write statuses; a health probe that watches gets no more time.
STOP_S = 0.1
MAX_METADATA = 16 << 10
# The value that gRPC reads as "for ever".
NEVER_MS = (1 << 31) - 1
# By default gRPC ends a connection whose other end does not answer its pings or its
# settings for a minute. But a host that is stopped, suspended or held by a debugger for
# longer is still alive; when it dies, the kernel ends the connection immediately.
HOST_SILENCE = {
    "grpc.http2.ping_timeout_ms": NEVER_MS,
    "grpc.http2.settings_timeout": NEVER_MS,
    "grpc.keepalive_time_ms": NEVER_MS,
}
# gRPC sends pings to measure how much a connection carries. That is useless for a local
# socket, and each ping, with the timer for the next one, wakes an idle worker.
NO_BANDWIDTH_PINGS = {"grpc.http2.bdp_probe": 0}


class GrpcParts:
    """`TransportParts` of the gRPC transport."""

    def __init__(self) -> None:
        self.outbox = GrpcOutbox()
        self.main = MainThread()
        self._reading = SharedReading(self.main, asyncio.SelectorEventLoop)
        self.bridge_loop = self._reading.bridge_loop

    def transport(
        self,
        launch: Launch,
        loop: Loop,
        conversation: Conversation,
        on_host_left: Callable[[bool], None],
    ) -> GrpcTransport:
        """Returns the gRPC server."""
        running = conversation.calls.running
        # Also for a single call: gRPC's loop is stepped between two turns of the tools'.
        self.main.coalescer.begin(self.outbox, loop, lambda: len(running) > 0)
        stepped = SteppedLoop(loop, self._reading)
        # The host would wait for lost frames, so the conversation ends.
        stepped.on_interrupted = lambda: on_host_left(True)
        self.outbox.attach(stepped, launch.max_message_bytes)
        services = Services(conversation, self.outbox, launch.token, on_host_left)
        return GrpcTransport(launch, conversation, services, stepped)


class GrpcTransport:
    """The bridge's service and the standard health service; see `Transport`."""

    def __init__(
        self,
        launch: Launch,
        conversation: Conversation,
        services: Services,
        stepped: SteppedLoop,
    ) -> None:
        self._launch = launch
        self._conversation = conversation
        self._stepped = stepped
        self._services = services
        self._health = Health(BRIDGE_SERVICE)
        self._server: aio.Server | None = None

    async def start(self) -> None:
        """Listens.

        Raises:
            Exception: the socket cannot be used; gRPC has several classes for it.
        """
        self._stepped.open()
        await self._stepped.run(self._start())
        self._stepped.share()

    async def _start(self) -> None:
        limit = self._launch.max_message_bytes
        server = aio.server(
            options=[
                ("grpc.max_receive_message_length", limit),
                ("grpc.max_send_message_length", limit),
                ("grpc.max_metadata_size", MAX_METADATA),
                ("grpc.absolute_max_metadata_size", MAX_METADATA),
                *HOST_SILENCE.items(),
                *NO_BANDWIDTH_PINGS.items(),
            ]
        )
        server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(
                    BRIDGE_SERVICE, self._services.handlers()
                ),
                grpc.method_handlers_generic_handler(
                    HEALTH_SERVICE, self._health.handlers()
                ),
            )
        )
        _bind(server, self._launch.socket)
        await server.start()
        self._server = server

    def leave(self) -> None:
        """Refuses calls, and reports `NOT_SERVING`."""
        # A call is either accepted before this and will be answered, or refused.
        with self._stepped.stepping:
            self._conversation.leave()
        self._stepped.call_soon(self._health.leave)

    async def finish(self, timeout: float) -> None:
        """Writes the remaining frames, then ends the conversation."""
        await self._stepped.run(self._services.finish(timeout))

    async def stop(self) -> None:
        """Closes the socket."""
        self._stepped.unshare()
        if self._server is not None:
            await self._stepped.run(self._server.stop(STOP_S))
        self._stepped.close()


def _bind(server: aio.Server, path: str) -> None:
    # With this mask, only this user may open the socket file, from its creation on.
    before = os.umask(0o177)
    try:
        bound = server.add_insecure_port(f"unix:{path}")
    finally:
        os.umask(before)
    if bound == 0:
        raise OSError("grpc could not bind")
