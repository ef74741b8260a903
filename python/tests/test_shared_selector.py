"""Descriptors that two threads watch."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from snakepit_bridge.threads.shared_reading import (
    CAN_SHARE,
    SharedSelector,
)

pytestmark = pytest.mark.skipif(
    not CAN_SHARE, reason="the kernel cannot choose who reads"
)
DEADLINE_S = 20


@pytest.fixture
def pairs() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    with contextlib.ExitStack() as stack:
        made = [socket.socketpair() for _ in range(2)]
        for pair in made:
            for end in pair:
                stack.enter_context(end)
                end.setblocking(False)
        yield made


@pytest.fixture
def selector() -> Iterator[SharedSelector]:
    with contextlib.closing(SharedSelector()) as made:
        yield made


@pytest.mark.parametrize("written", [0, 1])
def test_each_readable_descriptor_is_reported(
    pairs: list[tuple[socket.socket, socket.socket]],
    selector: SharedSelector,
    written: int,
) -> None:
    calls: list[str] = []
    selector.share(
        [theirs.fileno() for _, theirs in pairs], lambda: calls.append("readable")
    )
    ours, theirs = pairs[written]
    ours.send(b"x")
    assert selector.wait(DEADLINE_S) is False
    assert selector.select(DEADLINE_S) == []
    assert calls == ["readable"] * 2
    theirs.recv(1)
    selector.unshare()
    for ours, _ in pairs:
        ours.send(b"x")
    assert selector.select(0) == []
    assert calls == ["readable"] * 2


def test_two_readable_descriptors_are_reported_once(
    pairs: list[tuple[socket.socket, socket.socket]], selector: SharedSelector
) -> None:
    calls: list[str] = []
    selector.share(
        [theirs.fileno() for _, theirs in pairs], lambda: calls.append("readable")
    )
    ours, theirs = socket.socketpair()
    with ours, theirs:
        selector.register(theirs, 1, "own")
        for each in (ours, pairs[0][0], pairs[1][0]):
            each.send(b"x")
        assert [key.data for key, _ in selector.select(DEADLINE_S)] == ["own"]
        assert calls == ["readable"]
        assert selector.wait(DEADLINE_S) is True


def test_a_wait_that_times_out_lets_the_loop_have_a_turn(
    selector: SharedSelector,
) -> None:
    assert selector.wait(0) is True
