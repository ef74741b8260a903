"""The connections that a relay accepts: it admits those of its gateway and its host, and
exchanges messages with the gateway without ever blocking.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator

from snakepit_bridge.cluster.certificates import is_pinned
from snakepit_bridge.cluster.json_lines import LineReader, line

PROBES = 3


def end_when_silent(connection: socket.socket, within_ms: int) -> None:
    """Makes an idle connection fail when the other machine has not answered for this
    long.

    Args:
        connection: TCP.
        within_ms: Rounded to a multiple of 4 s, at least that.
    """
    seconds = max(1, round(within_ms / 1000 / (PROBES + 1)))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle = getattr(socket, "TCP_KEEPIDLE", getattr(socket, "TCP_KEEPALIVE", None))
    if idle is not None:
        connection.setsockopt(socket.IPPROTO_TCP, idle, seconds)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, seconds)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, PROBES)


# A connection must show its certificate within this time, or it is closed.
HANDSHAKE_S = 10.0
MOST_GUESTS = 16
# How long no connection is accepted after one could not be.
PAUSE_S = 0.2


class Admission:
    """Listens, and hands over each connection that shows the one certificate.

    Others are closed; they cost a thread for a few seconds at most.
    """

    def __init__(
        self,
        address: str,
        context: ssl.SSLContext,
        peer: str,
        admit: Callable[[ssl.SSLSocket], bool],
    ) -> None:
        """Listens at a free port of this address.

        Args:
            address: Of this node.
            context: See `pinned_context`.
            peer: The certificate that a connection has to show.
            admit: Takes a connection over, in another thread, or returns False.

        Raises:
            OSError: the address cannot be used.
        """
        self._context = context
        self._peer = peer
        self._admit = admit
        self._guests = threading.BoundedSemaphore(MOST_GUESTS)
        self._is_closed = False
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.create_server((address, 0), family=family)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Listens no more."""
        self._is_closed = True
        with contextlib.suppress(OSError):
            # `close` alone does not wake the accepting thread.
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                if self._is_closed:
                    return
                # The client is gone again, or no descriptor is left.
                time.sleep(PAUSE_S)
                continue
            if not self._guests.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(
                target=self._shake_hands, args=(connection,), daemon=True
            ).start()

    def _shake_hands(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(HANDSHAKE_S)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            secured = self._context.wrap_socket(
                connection, server_side=True, suppress_ragged_eofs=False
            )
            secured.settimeout(None)
            if not (is_pinned(secured, self._peer) and self._admit(secured)):
                secured.close()
        except (OSError, ValueError):
            connection.close()
        finally:
            self._guests.release()


READ_BYTES = 64 << 10
# The most output of the worker that waits for a stopped gateway; further output is
# dropped.
MOST_WAITING = 4 << 20


class ControlConnection:
    """A connection that a loop calls when it is readable or writable."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._reader = LineReader()
        self._waiting = bytearray()
        self._dropped = 0

    def fileno(self) -> int:
        """For a selector."""
        return self._connection.fileno()

    @property
    def has_waiting(self) -> bool:
        """Whether data waits until the connection is writable."""
        return bool(self._waiting)

    def receive(self) -> Iterator[dict[str, object]]:
        """Yields what has arrived.

        Raises:
            EOFError: the gateway ended the connection.
            OSError: it broke.
            LineInvalid: what arrived is no message.
        """
        while True:
            try:
                data = self._connection.recv(READ_BYTES)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            if not data:
                raise EOFError
            yield from self._reader.feed(data)

    def send_output(self, stream: str, data: bytes) -> None:
        """Sends a piece of the worker's output, or counts it if too much waits."""
        if self._dropped or len(self._waiting) > MOST_WAITING:
            self._dropped += len(data)
            return
        # Bytes that are not UTF-8 also arrive unchanged.
        text = data.decode("utf-8", "surrogateescape")
        self.send(output={"stream": stream, "text": text})

    def send(self, **message: object) -> None:
        """Sends a message, now or when the connection is writable.

        Raises:
            OSError: it broke.
        """
        if self._dropped:
            self._waiting += self._note()
        self._waiting += line(**message)
        self.flush()

    def flush(self) -> None:
        """Sends as much as the connection accepts now; raises `OSError` if it broke."""
        try:
            while self._waiting or self._dropped:
                if not self._waiting:
                    self._waiting += self._note()
                del self._waiting[: self._connection.send(self._waiting)]
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass

    def _note(self) -> bytes:
        count, self._dropped = self._dropped, 0
        text = f"[{count} bytes of output are lost: the gateway did not read]\n"
        return line(output={"stream": "stderr", "text": text})

    def finish(self, within_s: float) -> None:
        """Sends waiting data, if the gateway reads it in time, and closes.

        Raises:
            OSError: it broke.
        """
        deadline = time.monotonic() + within_s
        while self._waiting and (left := deadline - time.monotonic()) > 0:
            select.select([], [self._connection], [], left)
            self.flush()
        self._connection.close()
