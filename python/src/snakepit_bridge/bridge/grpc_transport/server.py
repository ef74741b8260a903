"""The gRPC server of a worker."""

from __future__ import annotations

import os
from collections.abc import Callable

import grpc
from grpc import aio

from snakepit_bridge.boot.launch_message import Launch
from snakepit_bridge.bridge.answers import Answers
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.bridge.conversation import Conversation
from snakepit_bridge.bridge.grpc_transport.health import HEALTH_SERVICE, Health
from snakepit_bridge.bridge.grpc_transport.outbox import GrpcOutbox
from snakepit_bridge.bridge.grpc_transport.services import BRIDGE_SERVICE, Services
from snakepit_bridge.bridge.grpc_transport.stepped_loop import SteppedLoop
from snakepit_bridge.bridge.grpc_transport.token import Guard

__all__ = ["GrpcTransport"]

# For statuses under way; a health probe that watches is not waited for longer.
STOP_S = 0.1
MAX_METADATA = 16 << 10
# What gRPC reads as "for ever".
NEVER_MS = (1 << 31) - 1
# By itself gRPC ends a connection whose other end does not answer its pings or its
# settings for a minute. But a host that is stopped, suspended or held by a debugger
# for longer lives; when it dies, the kernel ends the connection at once.
HOST_SILENCE = {
    "grpc.http2.ping_timeout_ms": NEVER_MS,
    "grpc.http2.settings_timeout": NEVER_MS,
    "grpc.keepalive_time_ms": NEVER_MS,
}
# gRPC measures by pings how much a connection carries. There is nothing to learn of a
# socket of this machine, and each ping, with the timer for the next, wakes a worker
# that has nothing else to do than to answer heartbeats.
NO_BANDWIDTH_PINGS = {"grpc.http2.bdp_probe": 0}


class GrpcTransport:
    """A `Transport`: gRPC, with the standard health service beside the bridge's."""

    def __init__(
        self,
        launch: Launch,
        conversation: Conversation,
        calls: CallTable,
        answers: Answers,
        outbox: GrpcOutbox,
        on_host_left: Callable[[bool], None],
        turned: SteppedLoop,
    ) -> None:
        self._launch = launch
        self._conversation = conversation
        self._turned = turned
        # A conversation of which something is lost would leave the host waiting.
        turned.on_interrupted = lambda: on_host_left(True)
        self._services = Services(answers, conversation, calls, outbox, on_host_left)
        self._health = Health(BRIDGE_SERVICE)
        self._server: aio.Server | None = None

    async def start(self) -> None:
        """Listens.

        Raises:
            Exception: the socket cannot be used; gRPC has several of its own.
        """
        self._turned.open()
        await self._turned.run(self._start())
        self._turned.share()

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
        guard = Guard(self._launch.token)
        server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(
                    BRIDGE_SERVICE, self._services.handlers(guard)
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
        """Refuses calls, and says `NOT_SERVING`."""
        # A call is either taken before this, and seen to, or refused after it.
        with self._turned.turning:
            self._conversation.leave()
        self._turned.call_soon(self._health.leave)

    async def finish(self, timeout: float) -> None:
        """Writes what is left to write and ends the conversation, in order."""
        await self._turned.run(self._services.finish(timeout))

    async def stop(self) -> None:
        """Lets go of the socket."""
        self._turned.share_no_more()
        if self._server is not None:
            await self._turned.run(self._server.stop(STOP_S))
        self._turned.close()


def _bind(server: aio.Server, path: str) -> None:
    # The socket file is made with this mask: nobody else may ever open it.
    before = os.umask(0o177)
    try:
        bound = server.add_insecure_port(f"unix:{path}")
    finally:
        os.umask(before)
    if bound == 0:
        raise OSError("grpc could not bind")
