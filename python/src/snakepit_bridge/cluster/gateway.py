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

from snakepit_bridge.boot import exit_status
from snakepit_bridge.boot.control_channel import StartFailed
from snakepit_bridge.cluster.certificates import Identity, own_identity, read_identity
from snakepit_bridge.cluster.gateway_launch import GatewayLaunch
from snakepit_bridge.cluster.json_lines import line
from snakepit_bridge.cluster.ray_cluster import (
    RayCluster,
    describe,
    missing_everywhere,
    missing_now,
    start_failure,
)
from snakepit_bridge.cluster.relay_actor import RelayActor
from snakepit_bridge.cluster.relay_connection import RelayConnection, messages
from snakepit_bridge.cluster.sources import Sources

# Of a failure.
WORDS = ("code", "message", "detail")
# The buffer for a stopped stand-in; output beyond it is dropped.
MOST_WAITING = 4 << 20
# A relay that has not ended by itself after this is killed with its actor.
RELAY_END_S = 3.0
# The share of the start limit after which the reason is searched, while the host still
# waits.
START_SHARE = 0.9


class GatewaySlot:
    """From a stand-in's connection to its end."""

    def __init__(
        self,
        gateway: Gateway,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._gateway = gateway
        self._stand_in = writer
        self._messages = messages(reader)
        self._actor: Any = None
        self._relay: RelayConnection | None = None

    async def serve(self) -> None:
        """Serves the stand-in; no process of its worker is left when this returns."""
        launch = await anext(self._messages, None)
        if launch is None:
            return
        worker = asyncio.create_task(self._run_worker(launch))
        signals = asyncio.create_task(self._forward_signals())
        try:
            await asyncio.wait({worker, signals}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (worker, signals):
                task.cancel()
            await asyncio.gather(worker, signals, return_exceptions=True)
            await self._end_relay()
            self._stand_in.close()

    async def _run_worker(self, launch: dict[str, Any]) -> None:
        """Starts the worker, and passes on what its relay sends until that ends."""
        try:
            facts = await self._place()
            node = facts["node"]
            gateway = self._gateway
            self._relay = relay = await RelayConnection.open(
                gateway.identity, facts, gateway.launch.keep_alive_ms
            )
            relay.send(launch=gateway.sources.mapped(launch))
            async for message in relay.messages:
                ready = message.get("ready")
                if isinstance(ready, dict):
                    ready.update(facts)
                self._tell(**message)
                if "exit" in message:
                    return
            place = f"{node['name']} ({node['address']})"
            self._give_up(
                f"snakepit: the connection to node {place} ended, and the worker with it\n"
            )
        except StartFailed as failure:
            words = {name: getattr(failure, name) for name in WORDS}
            self._tell(failed=words)
            self._tell(exit={"code": exit_status.FAILED})
        except Exception as error:  # noqa: BLE001 - Ray raises whatever it meets
            self._give_up(f"snakepit: {type(error).__name__}: {error}\n")

    def _give_up(self, reason: str) -> None:
        """The worker is gone, and its relay has not reported why."""
        self._tell(output={"stream": "stderr", "text": reason})
        self._tell(exit={"signal": "SIGKILL"})

    async def _forward_signals(self) -> None:
        async for message in self._messages:
            if self._relay is not None and "signal" in message:
                self._relay.send(signal=message["signal"])

    def _tell(self, **message: object) -> None:
        """Sends a message to the stand-in."""
        waiting = self._stand_in.transport.get_write_buffer_size()
        if "output" not in message or waiting < MOST_WAITING:
            self._stand_in.write(line(**message))

    # ------------------------------------------------ the node

    async def _place(self) -> dict[str, Any]:
        """Returns `relay` and `node`, as `RelayActor.start` does.

        Raises:
            StartFailed: no node can run the worker.
        """
        gateway = self._gateway
        amounts = gateway.launch.resources.amounts
        nodes = await asyncio.to_thread(gateway.cluster.nodes)
        never = missing_everywhere(amounts, nodes)
        if never is not None:
            raise StartFailed("RESOURCES_UNAVAILABLE", never, describe(amounts, nodes))
        self._actor = await asyncio.to_thread(gateway.new_actor)
        started = asyncio.wrap_future(self._actor.start.remote(gateway.setup).future())
        limit = gateway.launch.start_timeout_ms * START_SHARE / 1000
        try:
            facts: dict[str, Any] = await asyncio.wait_for(started, limit)
        except asyncio.TimeoutError:
            nodes = await asyncio.to_thread(gateway.cluster.nodes)
            raise _not_placed(amounts, nodes, limit) from None
        except Exception as error:  # noqa: BLE001 - Ray raises whatever it meets
            raise start_failure(error) from None
        if "failed" in facts:
            raise StartFailed(**facts["failed"])
        return facts

    async def _end_relay(self) -> None:
        """Ends the worker on its node, whatever state its relay is in."""
        if self._relay is not None:
            self._relay.close()
        actor = self._actor
        if actor is None:
            return
        if self._relay is not None:
            with contextlib.suppress(Exception):
                ended = asyncio.wrap_future(actor.end.remote().future())
                await asyncio.wait_for(ended, RELAY_END_S)
        with contextlib.suppress(Exception):
            await asyncio.to_thread(self._gateway.cluster.kill, actor)


def _not_placed(
    amounts: dict[str, float], nodes: list[Any], after_s: float
) -> StartFailed:
    missing = missing_now(amounts, nodes)
    if missing is not None:
        return StartFailed(
            "RESOURCES_UNAVAILABLE",
            f"{missing}; waited {after_s:g} s",
            describe(amounts, nodes),
        )
    return StartFailed(
        "CLUSTER_UNREACHABLE",
        f"Ray did not start the worker's actor within {after_s:g} s, although a node has "
        "the resources",
        "Ray may still install what runtimeEnv lists: raise start.timeoutMs.\n"
        + describe(amounts, nodes),
    )


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
