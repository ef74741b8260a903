"""Connections to a relay, before they have shown their certificate."""

from __future__ import annotations

import errno
import socket
import ssl
from typing import Any

import pytest

from snakepit_bridge.cluster.relay_listener import Admission

DEADLINE_S = 30.0


class FullOnce(socket.socket):
    """Fails to accept the first connection, as in a process without free descriptors."""

    is_full = True

    def accept(self) -> Any:
        if self.is_full:
            self.is_full = False
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


def test_connections_are_accepted_again_after_the_process_had_no_descriptor_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def create_server(address: tuple[str, int], *, family: int) -> socket.socket:
        listener = FullOnce(family)
        listener.bind(address)
        listener.listen()
        return listener

    monkeypatch.setattr(socket, "create_server", create_server)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    admission = Admission("127.0.0.1", context, "no certificate", lambda _: False)
    with socket.create_connection(("127.0.0.1", admission.port), DEADLINE_S) as guest:
        guest.sendall(b"no handshake\r\n\r\n")
        # It was accepted, and is closed since it does not speak TLS.
        with pytest.raises((ConnectionError, EOFError)):
            while guest.recv(1024):
                pass
            raise EOFError
    admission.close()
