"""Holds a connection to the harness's exit watcher: it closes when its last holder ends."""

from __future__ import annotations

import os
import socket

held: list[socket.socket] = []


def hold(role: str, path: str | None = None) -> None:
    """Connects, sends role and pid, and returns when the harness has read them."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path or os.environ["CHAOS_EXIT_WATCHER"])
    connection.sendall(f"{role} {os.getpid()}\n".encode())
    connection.recv(1)
    held.append(connection)
