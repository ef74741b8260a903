"""Carries the bytes of a conversation between the host's TLS connection and the worker.

One thread does it for both directions: an SSL connection is not for two.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
from collections.abc import Callable

__all__ = ["Pump"]

# So much is read before it is passed on: the worker begins while the rest arrives.
BUFFER_BYTES = 256 << 10
# Of the worker's socket; the kernel may grant less.
SOCKET_BYTES = 1 << 20
# An SSL connection waits for its socket, for one or the other.
WAITS = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError)
# Once for each arrival: whoever is woken reads until there is no more.
ARRIVED = select.EPOLLIN | select.EPOLLET


class Pump:
    """Both directions of one conversation."""

    def __init__(
        self,
        remote: ssl.SSLSocket,
        local: socket.socket,
        host_left: Callable[[], None],
    ) -> None:
        """Takes over the connections.

        Args:
            remote: The host's.
            local: To the worker.
            host_left: Called when the host has ended the conversation in order.
        """
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            local.setsockopt(socket.SOL_SOCKET, option, SOCKET_BYTES)
        self._remote = remote
        self._local = local
        self._host_left = host_left
        self._to_worker = _Direction(remote, local, worker=local)
        self._to_host = _Direction(local, remote, worker=local)

    def run(self) -> None:
        """Carries until the worker has closed its end, which it does when the host has.

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
                # In turns: one that never ends must not hold up the other.
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

    def _directions(self) -> tuple[_Direction, _Direction]:
        return self._to_worker, self._to_host


class _Direction:
    """The bytes of one connection on their way to the other."""

    def __init__(
        self, source: socket.socket, target: socket.socket, worker: socket.socket
    ) -> None:
        """Only the connection to the worker may break: it has left then."""
        self.target = target
        self._source = source
        self._worker = worker
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        # What lies between them is to be sent.
        self._begin = self._end = 0
        self._has_ended = False

    @property
    def is_full(self) -> bool:
        """Whether the target takes no more for now."""
        return self._begin < self._end

    @property
    def is_over(self) -> bool:
        """Whether all has been sent that there will be."""
        return self._has_ended and not self.is_full

    def carry(self) -> bool:
        """Carries a buffer; returns whether there may be more, and the target takes it."""
        if self.is_full and not self._send():
            return False
        return self._receive() and self._send()

    def _send(self) -> bool:
        """Returns whether the buffer is empty."""
        try:
            while self._begin < self._end:
                self._begin += self.target.send(self._buffer[self._begin : self._end])
        except WAITS:
            return False
        except ConnectionError:
            if self.target is not self._worker:
                raise
            # The other direction ends with it, and after what it has sent.
        self._begin = self._end = 0
        return True

    def _receive(self) -> bool:
        """Fills the buffer; returns whether there is something to send."""
        try:
            while not self._has_ended and self._end < BUFFER_BYTES:
                received = self._source.recv_into(self._buffer[self._end :])
                self._has_ended = received == 0
                self._end += received
        except WAITS:
            pass
        except ConnectionError:
            if self._source is not self._worker:
                raise
            self._has_ended = True
        return self._end > 0
