"""Carries a conversation between the host's TLS connection and the worker. One thread
serves both directions, because two threads cannot share an SSL connection.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
from collections.abc import Callable

from snakepit_bridge.cluster.direction import WAITS, Direction
from snakepit_bridge.cluster.node_segments import NodeSegments

__all__ = ["Pump"]

# Of the worker's socket; the kernel may grant less.
SOCKET_BYTES = 1 << 20
# Once for each arrival: the thread that is woken reads everything.
ARRIVED = select.EPOLLIN | select.EPOLLET


class Pump:
    """Both directions of one conversation."""

    def __init__(
        self,
        remote: ssl.SSLSocket,
        local: socket.socket,
        host_left: Callable[[], None],
        segments: NodeSegments | None = None,
    ) -> None:
        """Takes over the connections.

        Args:
            remote: The host's.
            local: To the worker.
            host_left: Called when the host has ended the conversation in order.
            segments: Where what crosses beside the frames is; None if nothing does.
        """
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            local.setsockopt(socket.SOL_SOCKET, option, SOCKET_BYTES)
        self._remote = remote
        self._local = local
        self._host_left = host_left
        self._to_worker = Direction(remote, local, worker=local, segments=segments)
        self._to_host = Direction(local, remote, worker=local, segments=segments)

    def run(self) -> None:
        """Carries data until the worker has closed its end, which it does after the
        host.

        Raises:
            OSError: a connection broke, or the host's ended without TLS's farewell.
        """
        with select.epoll() as poller:
            for connection in (self._remote, self._local):
                connection.setblocking(False)
                poller.register(connection, ARRIVED)
            waiting: set[socket.socket] = set()
            has_left = False
            while not self._to_host.is_over:
                # In turns: an endless direction must not block the other.
                to_worker, to_host = self._to_worker.carry(), self._to_host.carry()
                if self._to_worker.is_over and not has_left:
                    has_left = True
                    self._host_left()
                    with contextlib.suppress(OSError):
                        self._local.shutdown(socket.SHUT_WR)
                if to_worker or to_host:
                    continue
                wanted = {each.target for each in self._directions() if each.is_full}
                for connection in wanted ^ waiting:
                    poller.modify(
                        connection,
                        ARRIVED | select.EPOLLOUT if connection in wanted else ARRIVED,
                    )
                waiting = wanted
                if not self._to_host.is_over:
                    poller.poll()
        with contextlib.suppress(*WAITS, OSError):
            self._remote.unwrap()

    def _directions(self) -> tuple[Direction, Direction]:
        return self._to_worker, self._to_host
