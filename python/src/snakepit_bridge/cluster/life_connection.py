"""The idle connection between a relay and its gateway: it ends when either machine is gone.

Only the kernels use it. A process that is stopped, or does not read, does not end it, as
a bound on the connections that carry data would.
"""

from __future__ import annotations

import socket

__all__ = ["end_when_silent"]

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
