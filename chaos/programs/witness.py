"""Holds a connection to whoever observes the round: it closes when its last holder is gone."""

from __future__ import annotations

import os
import socket

held: list[socket.socket] = []


def hold(role: str, path: str | None = None) -> None:
    """Connects, says who it is, and returns when that was heard."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path or os.environ["CHAOS_WITNESS"])
    connection.sendall(f"{role} {os.getpid()}\n".encode())
    connection.recv(1)
    held.append(connection)
