"""The gateway's connections to one relay."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from typing import Any

from snakepit_bridge.boot.control_channel import StartFailed
from snakepit_bridge.cluster.certificates import Identity, is_pinned, pinned_context
from snakepit_bridge.cluster.json_lines import LineInvalid, LineReader, line
from snakepit_bridge.cluster.relay_listener import end_when_silent

READ_BYTES = 64 << 10
# For each step of a connection; a node may be busy with starting many workers.
ANSWER_S = 30.0


class RelayConnection:
    """Messages both ways, until either machine is gone.

    Attributes:
        messages: What the relay sends, until it or its machine is gone.
    """

    def __init__(
        self,
        messages: AsyncIterator[dict[str, Any]],
        writer: asyncio.StreamWriter,
        life: Any,
    ) -> None:
        self.messages = messages
        self._writer = writer
        self._life = asyncio.create_task(self._end_with(*life))

    @classmethod
    async def open(
        cls, identity: Identity, facts: dict[str, Any], keep_alive_ms: int
    ) -> RelayConnection:
        """Connects.

        Args:
            identity: The gateway's.
            facts: Of `RelayActor.start`.
            keep_alive_ms: See `end_when_silent`.

        Raises:
            StartFailed: the relay cannot be reached, or another listens there.
        """
        relay, node = facts["relay"], facts["node"]
        context = pinned_context(identity, relay["certificate"], server=False)
        opened: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        try:
            for name in ("control", "life"):
                # A client of TLS 1.3 finishes before the relay does. Without the
                # relay's message, the next connection could be admitted first, and the
                # relay tells connections apart by their order.
                opened.append(await asyncio.wait_for(_open(relay, context), ANSWER_S))
                if name == "control":
                    incoming = messages(opened[0][0])
                answer = await asyncio.wait_for(anext(incoming, None), ANSWER_S)
                if answer != {"admitted": name}:
                    raise ConnectionError("it was closed")
        except (OSError, asyncio.TimeoutError) as error:
            for _, writer in opened:
                writer.transport.abort()
            raise StartFailed(
                "CLUSTER_UNREACHABLE",
                f"node {node['name']} ({node['address']}) cannot be reached at port "
                f"{relay['port']}: {type(error).__name__}: {error}",
                "Between the nodes of the cluster all ports above 1023 have to be open.",
            ) from None
        control, life = opened
        end_when_silent(life[1].get_extra_info("socket"), keep_alive_ms)
        return cls(incoming, control[1], life)

    def send(self, **message: object) -> None:
        """Sends a message."""
        self._writer.write(line(**message))

    def close(self) -> None:
        """Closes both; the relay then ends all processes that it has started."""
        self._life.cancel()
        self._writer.transport.abort()

    async def _end_with(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            with contextlib.suppress(OSError):
                await reader.read(1)
        finally:
            writer.transport.abort()
            self._writer.transport.abort()


async def messages(reader: asyncio.StreamReader) -> AsyncIterator[dict[str, Any]]:
    """Yields messages until the other end is gone, or sends something else."""
    lines = LineReader()
    with contextlib.suppress(OSError, LineInvalid):
        while data := await reader.read(READ_BYTES):
            for message in lines.feed(data):
                yield message


async def _open(
    relay: dict[str, Any], context: ssl.SSLContext
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(
        relay["host"], relay["port"], ssl=context
    )
    if not is_pinned(writer.get_extra_info("ssl_object"), relay["certificate"]):
        writer.transport.abort()
        raise ssl.SSLError("another certificate than the relay's")
    return reader, writer
