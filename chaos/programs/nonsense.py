"""What a bridge with a bug might write to its host: straight onto the sockets of the conversation."""

from __future__ import annotations

import os
import socket
import stat

#: Over gRPC the header of an HTTP/2 frame of DATA on stream 1: 24 bits of length, type, flags, stream. Framed, it is a length of 4 GB.
LARGEST_FRAME = b"\xff\xff\xff" + b"\x00" + b"\x00" + b"\x00\x00\x00\x01"
KINDS = {
    "malformed": b"404 page not found\r\n" * 50,
    "oversized": LARGEST_FRAME + bytes(1024 * 1024),
    "noise": os.urandom(64 * 1024),
}


def write(kind: str) -> None:
    """Writes nonsense of one kind onto every connection that was accepted here."""
    for connection in accepted():
        connection.setblocking(True)
        try:
            connection.sendall(KINDS[kind])
        except OSError:
            pass  # It was closed for what was written before.


def accepted() -> list[socket.socket]:
    """The connections to a socket of this process: they have its path as their own name."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        try:
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                continue
            connection = socket.socket(fileno=os.dup(descriptor))
            if connection.getsockname() and connection.getpeername() is not None:
                found.append(connection)
        except OSError:
            continue  # A listener, or closed meanwhile.
    return found
