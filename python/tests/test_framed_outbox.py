"""Frames on their way to a framed connection."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast
from unittest.mock import Mock

import pytest
from support.packed_frames import worker_frame

from snakepit_bridge.bridge.frame_codec import encode_frame
from snakepit_bridge.bridge.framed_transport.frame_parser import (
    FRAME,
    FrameParser,
    framed,
)
from snakepit_bridge.bridge.framed_transport.outbox import MAX_HELD, FramedOutbox
from snakepit_bridge.frames import End, Log


def frame(number: int) -> End:
    return End(number)


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
            worker_frame(body).call_id
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


def test_held_frames_leave_when_they_are_flushed(
    outbox: FramedOutbox, receiver: Receiver
) -> None:
    outbox.held = True
    outbox.put(frame(1))
    outbox.put_last(frame(2))
    assert receiver.arrived() == []
    outbox.held = False
    outbox.flush()
    assert receiver.arrived() == [1, 2]


def test_at_most_a_few_frames_are_held_back(
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


def in_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()


def test_answers_that_were_added_leave_before_what_follows(
    outbox: FramedOutbox, receiver: Receiver
) -> None:
    for number in (1, 2):
        outbox.add(framed(FRAME, encode_frame(frame(number))))
    assert receiver.arrived() == []
    outbox.put(frame(3))
    assert receiver.arrived() == [1, 2, 3]
    outbox.add(framed(FRAME, encode_frame(frame(4))))
    outbox.put_last(frame(5))
    assert receiver.arrived() == [4, 5]


def test_a_worker_that_leaves_waits_for_answers_that_were_added(
    outbox: FramedOutbox, receiver: Receiver
) -> None:
    outbox.add(framed(FRAME, encode_frame(frame(1))))

    async def leave() -> None:
        outbox.attach(asyncio.get_running_loop())
        leaving = asyncio.create_task(outbox.drained(30))
        await asyncio.sleep(0)
        assert not leaving.done()
        outbox.send_added()
        await leaving

    asyncio.run(leave())
    assert receiver.arrived() == [1]


def test_a_worker_that_leaves_notices_that_another_thread_has_written(
    outbox: FramedOutbox, receiver: Receiver
) -> None:
    async def leave() -> None:
        outbox.attach(asyncio.get_running_loop())
        # As the main thread does while it writes.
        with outbox._writing:
            outbox.put_last(frame(1))
            leaving = asyncio.create_task(outbox.drained(30))
            await asyncio.sleep(0)
            assert not leaving.done()
        outbox.flush()
        await asyncio.wait_for(leaving, 10)

    asyncio.run(leave())
    assert receiver.arrived() == [1]


def test_answers_of_a_tools_thread_are_not_held_back(
    outbox: FramedOutbox, receiver: Receiver
) -> None:
    outbox.held = True
    in_thread(lambda: outbox.put_last(frame(1)))
    assert receiver.arrived() == [1]


def test_no_thread_waits_for_the_thread_that_writes(
    outbox: FramedOutbox, receiver: Receiver
) -> None:
    with outbox._writing:
        in_thread(lambda: outbox.put_last(frame(1)))
        assert receiver.arrived() == []
    outbox.flush()
    assert receiver.arrived() == [1]


class Interrupted(BaseException):
    """Raised by a signal's handler."""


class Interrupting:
    """Raises the first time that something is done with it, and lets it be done else."""

    def __init__(self, what: Any, method: str) -> None:
        self._what = what
        self._method: str | None = method

    def _at(self, method: str) -> Any:
        if method == self._method:
            self._method = None
            raise Interrupted
        return getattr(self._what, method)

    def __getattr__(self, name: str) -> Any:
        return self._at(name)

    def __bool__(self) -> bool:
        return bool(self._at("__len__")())

    def __len__(self) -> int:
        return len(self._what)

    def __enter__(self) -> Any:
        return self._at("__enter__")()

    def __exit__(self, *raised: object) -> Any:
        return self._what.__exit__(*raised)


# In the order of its steps, up to the one that writes: behind that nothing is interrupted.
@pytest.mark.parametrize(
    ("part", "method"),
    [
        ("_waiting", "__len__"),
        ("_writing", "locked"),
        ("_writing", "__enter__"),
        ("_waiting", "popleft"),
    ],
)
def test_a_thread_that_is_interrupted_in_a_flush_does_not_block_others(
    outbox: FramedOutbox,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    method: str,
) -> None:
    interrupting = Interrupting(getattr(outbox, part), method)
    monkeypatch.setattr(outbox, part, interrupting)
    with pytest.raises(Interrupted):
        outbox.put_last(frame(1))
    outbox.put_last(frame(2))
    assert receiver.arrived() == [1, 2]


@pytest.mark.parametrize("meanwhile", ["close", "flush"])
def test_the_other_thread_may_close_or_write_all_before_a_flush_gets_the_lock(
    outbox: FramedOutbox, receiver: Receiver, meanwhile: str
) -> None:
    writing = outbox._writing

    class Late:
        """A lock that one gets when the other thread has done that."""

        def locked(self) -> bool:
            return False

        def __enter__(self) -> None:
            outbox._writing = writing
            getattr(outbox, meanwhile)()

        def __exit__(self, *_: object) -> None: ...

    outbox._writing = Late()  # type: ignore[assignment]
    outbox.put_last(frame(1))
    assert receiver.arrived() == ([1] if meanwhile == "flush" else [])


class Held:
    """A lock; before it is free again the first time, another thread does something."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self._lock = threading.Lock()
        self._meanwhile: Callable[[], None] | None = meanwhile
        self.locked = self._lock.locked

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        meanwhile, self._meanwhile = self._meanwhile, None
        if meanwhile is not None:
            in_thread(meanwhile)
        self._lock.release()


def test_a_frame_that_comes_while_a_flush_finds_none_leaves(
    outbox: FramedOutbox, receiver: Receiver
) -> None:
    class Late(Held):
        """The other thread wrote all before one got it."""

        def __enter__(self) -> None:
            if self._meanwhile is not None:
                outbox._waiting.clear()
            super().__enter__()

    outbox._writing = Late(lambda: outbox.put_last(frame(2)))  # type: ignore[assignment]
    outbox.put_last(frame(1))
    assert receiver.arrived() == [2]


def test_a_connection_that_opens_while_a_flush_finds_none_is_written_to(
    outbox: FramedOutbox,
) -> None:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    with ours, theirs:
        outbox._writing = Held(lambda: outbox.open(ours))  # type: ignore[assignment]
        outbox.put(frame(1))
        if outbox._socket is None:
            # Nothing had the lock.
            outbox.open(ours)
        assert Receiver(theirs).arrived() == [1]
        outbox.close()


def test_a_connection_that_cannot_be_written_to_is_shut_down() -> None:
    outbox = FramedOutbox()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection = Mock(wraps=ours)
        connection.send.side_effect = OSError(errno.ENOBUFS, "no memory for it")
        outbox.open(connection)
        outbox.close()
        assert ours.recv(1) == b""
    assert not outbox._waiting


class WatchedSocket:
    """A socket that notes how many records wait while it is written to."""

    def __init__(self, outbox: FramedOutbox, connection: socket.socket) -> None:
        self.waiting: list[int] = []
        self._outbox = outbox
        self._connection = connection

    def send(self, data: bytes) -> int:
        self.waiting.append(self._outbox.logs_waiting)
        return self._connection.send(data)

    def __getattr__(self, name: str) -> object:
        return getattr(self._connection, name)


def test_a_record_waits_until_it_is_written(outbox: FramedOutbox) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        watched = WatchedSocket(outbox, ours)
        outbox.open(cast("socket.socket", watched))
        watched.waiting.clear()
        outbox.put_log(Log(0, "", 20, "one", 0))
        outbox.put_log(Log(0, "", 20, "two", 0))
        outbox.flush()
        assert watched.waiting == [2]
        assert outbox.logs_waiting == 0
        outbox.close()
