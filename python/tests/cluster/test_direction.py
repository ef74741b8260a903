"""One direction of a conversation, and what crosses beside its frames."""

from __future__ import annotations

import errno
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.conversation import DEADLINE_S

from snakepit_bridge import frames
from snakepit_bridge.bridge.framed_transport.frame_parser import FRAME, framed
from snakepit_bridge.bridge.framed_transport.sideband import (
    BYTES,
    CLOSED,
    SHORTENED,
    SegmentPart,
    announced,
)
from snakepit_bridge.cluster import conversation
from snakepit_bridge.cluster.certificates import own_identity, pinned_context
from snakepit_bridge.cluster.conversation import Direction, NodeSegments, Pump
from snakepit_bridge.cluster.relay_listener import Admission

FRAME_BEFORE, FRAME_AFTER = framed(FRAME, b"x" * 300), framed(FRAME, b"y")
CONTENT = bytes(range(250)) * 40


class Between:
    """A host and a worker with both directions between them, and a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.host, remote = socket.socketpair()
        local, self.worker = socket.socketpair()
        for each in (self.host, remote, local, self.worker):
            each.setblocking(False)
        self.ends = (self.host, remote, local, self.worker)
        self.said: list[str] = []
        segments = NodeSegments(str(directory), self.said.append)
        self.to_worker = Direction(remote, local, local, segments)
        self.to_host = Direction(local, remote, local, segments)

    def from_host(self, data: bytes, step: int = 1 << 20) -> bytes:
        """Sends it in steps; returns what arrives at the worker."""
        return self._carried(self.host, self.worker, self.to_worker, data, step)

    def from_worker(self, data: bytes, step: int = 1 << 20) -> bytes:
        """Sends it in steps; returns what arrives at the host."""
        return self._carried(self.worker, self.host, self.to_host, data, step)

    @staticmethod
    def _carried(
        source: socket.socket,
        target: socket.socket,
        way: Direction,
        data: bytes,
        step: int,
    ) -> bytes:
        arrived = b""
        for at in range(0, len(data), step):
            source.sendall(data[at : at + step])
            while way.carry():
                pass
            try:
                while part := target.recv(1 << 20):
                    arrived += part
                    way.carry()
            except BlockingIOError:
                pass
        return arrived


@pytest.fixture
def between(tmp_path: Path) -> Iterator[Between]:
    one = Between(tmp_path)
    yield one
    for each in one.ends:
        each.close()


def beside(kind: int, name: str, data: bytes = b"", offset: int = 0) -> bytes:
    """Returns a message of the host."""
    return framed(kind, SegmentPart(name, offset, len(data)).head() + data)


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_bytes_of_the_host_are_in_their_file_when_the_frame_comes(
    between: Between, step: int
) -> None:
    message = beside(BYTES, "h1", CONTENT)
    came = between.from_host(FRAME_BEFORE + message + FRAME_AFTER, step)
    assert came == FRAME_BEFORE + FRAME_AFTER
    assert (between.directory / "h1").read_bytes() == CONTENT


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_bytes_of_the_worker_come_before_their_frame(
    between: Between, step: int
) -> None:
    (between.directory / "s1").write_bytes(b"-" * 64 + CONTENT)
    part = SegmentPart("s1", 64, len(CONTENT))
    data = FRAME_BEFORE + framed(BYTES, part.head()) + FRAME_AFTER
    came = between.from_worker(data, step)
    whole = framed(BYTES, part.head() + CONTENT)
    assert came == FRAME_BEFORE + whole + FRAME_AFTER
    # As a host on one machine does.
    assert os.listdir(between.directory) == []


def test_a_file_is_written_over_shortened_and_forgotten(between: Between) -> None:
    between.from_host(beside(BYTES, "h1", CONTENT))
    with (between.directory / "h1").open("rb") as file:
        # The worker has opened it, and removed its name.
        os.unlink(file.name)
        between.from_host(beside(BYTES, "h1", b"new"))
        assert file.read() == b"new" + CONTENT[3:]
        between.from_host(framed(SHORTENED, SegmentPart("h1", 0, 2).head()))
        assert os.fstat(file.fileno()).st_size == 2
        between.from_host(beside(BYTES, "h1", CONTENT))
        file.seek(0)
        assert file.read() == CONTENT
    between.from_host(beside(CLOSED, "h1"))
    # It is another one.
    between.from_host(beside(BYTES, "h1", b"other"))
    assert (between.directory / "h1").read_bytes() == b"other"


def test_what_the_worker_does_not_have_arrives_as_nothing(between: Between) -> None:
    (between.directory / "w2").write_bytes(b"short")
    for name in ("w1", "w2"):
        part = SegmentPart(name, 0, 100)
        came = between.from_worker(framed(BYTES, part.head()) + FRAME_AFTER)
        assert came == framed(BYTES, part.head()) + FRAME_AFTER


def test_a_value_without_room_is_dropped_and_the_frames_around_it_pass(
    between: Between, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(os, "posix_fallocate", full)
    message = beside(BYTES, "h1", CONTENT)
    came = between.from_host(FRAME_BEFORE + message + FRAME_AFTER, 500)
    assert came == FRAME_BEFORE + FRAME_AFTER
    assert between.said == ["/dev/shm of this node has no room for 10000 bytes"]
    assert os.listdir(between.directory) == []


def test_only_a_frame_with_an_attachment_is_announced() -> None:
    attachment = frames.Attachment("w1", 5, 64)
    for frame in (
        frames.Result(1, 0, 0, b"", attachment),
        frames.Chunk(1, b"", attachment),
        frames.End(1, b"", attachment),
    ):
        assert announced(frame) == SegmentPart("w1", 64, 5)
    assert announced(frames.Result(1, 0, 0, b"1")) is None
    assert announced(frames.Log(0, "", 0, "", 0)) is None


def test_a_direction_carries_one_buffer_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # So that one which never ends does not hold up the other.
    monkeypatch.setattr(conversation, "BUFFER_BYTES", 1000)
    (sender, source), (target, receiver) = socket.socketpair(), socket.socketpair()
    for each in (source, target, receiver):
        each.setblocking(False)
    sender.sendall(b"x" * 2500)
    one = Direction(source, target, target)
    carried = []
    while one.carry():
        carried.append(len(receiver.recv(4000)))
    assert carried == [1000, 1000, 500]
    for each in (sender, source, target, receiver):
        each.close()


def test_a_worker_that_left_with_something_unread_did_not_break_the_connection() -> (
    None
):
    (host, remote), (local, worker) = socket.socketpair(), socket.socketpair()
    for each in (remote, local):
        each.setblocking(False)
    to_worker = Direction(remote, local, worker=local)
    to_host = Direction(local, remote, worker=local)
    host.sendall(b"a ping")
    to_worker.carry()
    worker.sendall(b"bye")
    # With "a ping" unread: the other end is reset.
    worker.close()
    host.sendall(b"another one")
    to_worker.carry()
    while not to_host.is_over:
        to_host.carry()
    assert host.recv(100) == b"bye"
    for each in (host, remote, local):
        each.close()


# -------------------------- The pump carries both directions of a conversation


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


# ------------ Connections to a relay, before they have shown their certificate


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
