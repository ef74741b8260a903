"""The pump carries both directions of a conversation."""

from __future__ import annotations

import socket
import ssl
import threading

from support.conversation import DEADLINE_S

from snakepit_bridge.cluster.certificates import own_identity, pinned_context
from snakepit_bridge.cluster.conversation import Pump


class Carried:
    """A host and a worker with a pump between them."""

    def __init__(self) -> None:
        ours, theirs = own_identity("host"), own_identity("relay")
        plain, secured = socket.socketpair()
        self.worker, local = socket.socketpair()
        self.failure: OSError | None = None
        self.left = threading.Event()
        server = pinned_context(theirs, ours.certificate, server=True)

        def run() -> None:
            remote = server.wrap_socket(
                secured, server_side=True, suppress_ragged_eofs=False
            )
            try:
                Pump(remote, local, self.left.set).run()
            except OSError as error:
                self.failure = error
            remote.close()
            local.close()

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        client = pinned_context(ours, theirs.certificate, server=False)
        self.host = client.wrap_socket(plain, suppress_ragged_eofs=False)
        for end in (self.host, self.worker):
            end.settimeout(DEADLINE_S)

    def close(self) -> None:
        """Ends it."""
        self.host.close()
        self.worker.close()
        self.thread.join(DEADLINE_S)


def read(connection: socket.socket, length: int) -> bytes:
    """Returns so many bytes."""
    data = bytearray()
    while len(data) < length:
        part = connection.recv(length - len(data))
        assert part, f"it ended after {len(data)} of {length} bytes"
        data += part
    return bytes(data)


def test_bytes_arrive_in_both_directions() -> None:
    one = Carried()
    for length in (1, 16 << 10, (1 << 20) + 7):
        data = bytes(range(256)) * (length // 256 + 1)
        for source, target in ((one.host, one.worker), (one.worker, one.host)):
            sender = threading.Thread(target=source.sendall, args=(data,))
            sender.start()
            assert read(target, len(data)) == data
            sender.join()
    one.close()


def test_the_hosts_farewell_reaches_the_worker() -> None:
    one = Carried()
    one.host.sendall(b"last")
    farewell = threading.Thread(target=unwrapped, args=(one.host,))
    farewell.start()
    assert read(one.worker, 4) == b"last"
    assert one.worker.recv(1) == b""
    assert one.left.wait(DEADLINE_S)
    one.worker.close()
    farewell.join()
    one.thread.join(DEADLINE_S)
    assert one.failure is None
    one.close()


def test_a_host_that_ends_without_one_is_a_broken_connection() -> None:
    one = Carried()
    one.host.close()
    one.thread.join(DEADLINE_S)
    assert isinstance(one.failure, ssl.SSLEOFError)
    assert not one.left.is_set()
    one.close()


def unwrapped(connection: ssl.SSLSocket) -> None:
    """Sends TLS's farewell, and waits for the other one."""
    connection.unwrap().close()
