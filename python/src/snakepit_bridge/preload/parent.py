"""The preloaded parent at work: forks workers for the host, and runs nothing else."""

from __future__ import annotations

import select

from snakepit_bridge.preload.forked_worker import ForkedWorker
from snakepit_guard.fork_server import ForkServer


class PreloadedParent:
    """Speaks the guard's protocol on the control channel."""

    def __init__(
        self, protocol: int, path: str, host: int, kept: frozenset[int]
    ) -> None:
        """Listens.

        Args:
            protocol: The control channel, once the ready line is said.
            path: Where connections are taken that become a worker's descriptors.
            host: The only process whose connections are taken.
            kept: Descriptors that imports have opened, and that workers have too.
        """
        self._server = ForkServer(protocol, path, host, ForkedWorker, kept)

    def run(self) -> None:
        """Forks until the host has enough, or is gone."""
        while self._server.serve(self._wait()) is None:
            pass
        self._server.close()

    def _wait(self) -> dict[int, int]:
        poll = select.poll()
        self._server.register(poll)
        return dict(poll.poll())
