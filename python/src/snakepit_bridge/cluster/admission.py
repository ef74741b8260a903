"""Accepts the connections to a relay."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable

from snakepit_bridge.cluster.certificates import is_pinned

__all__ = ["Admission"]

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
