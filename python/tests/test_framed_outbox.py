"""Frames on their way to a framed connection."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.framed_transport.frame_parser import FRAME, FrameParser
from snakepit_bridge.bridge.framed_transport.outbox import FramedOutbox
from snakepit_bridge.bridge.transport import MAX_HELD


def frame(number: int) -> pb.WorkerFrame:
    return pb.WorkerFrame(end=pb.End(call_id=number))


class Receiver:
    """The host's end of the connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._parser = FrameParser(1 << 20)

    def arrived(self) -> list[int]:
        """Returns the numbers of the frames that arrived since the last time."""
        try:
            data = self._connection.recv(1 << 16)
        except BlockingIOError:
            return []
        return [
            pb.WorkerFrame.FromString(body).end.call_id
            for kind, body in self._parser.feed(data)
            if kind == FRAME
        ]


@pytest.fixture
def outbox() -> FramedOutbox:
    return FramedOutbox()


@pytest.fixture
def receiver(outbox: FramedOutbox) -> Iterator[Receiver]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    with ours, theirs:
        outbox.open(ours)
        yield Receiver(theirs)
        outbox.close()


def test_a_frame_leaves_at_once(outbox: FramedOutbox, receiver: Receiver) -> None:
    outbox.put(frame(1))
    outbox.put_last(frame(2))
    assert receiver.arrived() == [1, 2]


def test_what_is_held_back_leaves_when_it_is_flushed(
    outbox: FramedOutbox, receiver: Receiver
) -> None:
    outbox.held = True
    outbox.put(frame(1))
    outbox.put_last(frame(2))
    assert receiver.arrived() == []
    outbox.held = False
    outbox.flush()
    assert receiver.arrived() == [1, 2]


def test_no_more_is_held_back_than_the_host_can_begin_with(
    outbox: FramedOutbox, receiver: Receiver
) -> None:
    outbox.held = True
    for number in range(MAX_HELD - 1):
        outbox.put_last(frame(number))
    assert receiver.arrived() == []
    outbox.put_last(frame(MAX_HELD - 1))
    assert receiver.arrived() == [*range(MAX_HELD)]
    for number in range(MAX_HELD):
        outbox.put(frame(number))
    assert receiver.arrived() == [*range(MAX_HELD)]
