"""The gateway: the one Ray driver of a pool, and the companion of its workers.

The frames of calls do not pass through it: it places workers, passes on their output
and signals, and ends them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from typing import Any

from snakepit_bridge.boot.control_channel import StartFailed
from snakepit_bridge.cluster.certificates import (
    Identity,
    own_identity,
    read_identity,
)
from snakepit_bridge.cluster.gateway_launch import GatewayLaunch
from snakepit_bridge.cluster.gateway_slot import GatewaySlot
from snakepit_bridge.cluster.ray_cluster import RayCluster
from snakepit_bridge.cluster.relay_actor import RelayActor
from snakepit_bridge.cluster.sources import Sources

__all__ = ["Gateway"]

# The time for the remaining workers when the host ends the gateway.
END_S = 4.0


class Gateway:
    """The driver, and what all slots share.

    Attributes:
        cluster: The connection to the cluster.
        identity: The certificate and key of this process, which the host uses, too.
        launch: The launch message.
        setup: What every relay is given.
        sources: What every node gets.
    """

    def __init__(self, launch: GatewayLaunch) -> None:
        """Connects to the cluster.

        Raises:
            StartFailed: there is no cluster that can be used, or something is missing here.
        """
        self.launch = launch
        self.identity = _identity(launch)
        self.sources = Sources(
            launch.payload["tools"],  # type: ignore[arg-type]
            launch.tool_path,
            launch.runtime_env.get("excludes") or [],
        )
        archive = os.path.join(os.path.dirname(launch.socket), "sources.zip")
        try:
            self.sources.write(archive)
            self.cluster = RayCluster(launch, archive)
        except OSError as error:
            raise StartFailed(
                "TOOLS_IMPORT_FAILED", f"the tools' directory cannot be read: {error}"
            ) from None
        finally:
            if os.path.exists(archive):
                os.unlink(archive)
        self.setup = {
            "certificate": self.identity.certificate,
            "tls": launch.tls,
            "keep_alive_ms": launch.keep_alive_ms,
            "start_timeout_ms": launch.start_timeout_ms,
            "directory": self.sources.directory,
        }

    def new_actor(self) -> Any:
        """Asks the cluster for the actor of one worker."""
        return self.cluster.actor(
            RelayActor, self.launch.resources, self.launch.placement
        )

    async def run(self, ready: Callable[[], None]) -> None:
        """Serves stand-ins until SIGTERM, then ends their workers."""
        ending = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ending.set)
        slots: set[asyncio.Task[None]] = set()

        async def serve(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            task = asyncio.current_task()
            assert task is not None
            slots.add(task)
            # Cancelled when the gateway ends.
            with contextlib.suppress(asyncio.CancelledError):
                await GatewaySlot(self, reader, writer).serve()
            slots.discard(task)

        before = os.umask(0o177)
        try:
            server = await asyncio.start_unix_server(serve, self.launch.socket)
        finally:
            os.umask(before)
        ready()
        await ending.wait()
        server.close()
        for slot in slots:
            slot.cancel()
        await asyncio.wait(
            {*slots, asyncio.create_task(asyncio.sleep(0))}, timeout=END_S
        )
        await asyncio.to_thread(self.cluster.close)


def _identity(launch: GatewayLaunch) -> Identity:
    if launch.tls is None:
        return own_identity("snakepit gateway")
    try:
        return read_identity(launch.tls)
    except (OSError, ValueError) as error:
        raise StartFailed(
            "TLS_UNREADABLE", f"connection.tls cannot be read: {error}"
        ) from None
