"""Access to a worker over the framed transport: tokens, limits, silent connections."""

from __future__ import annotations

import asyncio
import errno
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import msgpack
import pytest
from conftest import Host
from support.fake_host import FakeHost
from support.framed_conversation import (
    BYE,
    DESCRIBE,
    HEALTH_CHECK,
    HELLO,
    LEAVE,
    PING,
    WELCOME,
    FramedConversation,
    FramedSocket,
)
from support.packed_frames import packed_call, worker_frame

from snakepit_bridge.bridge.frame_codec import encode_frame
from snakepit_bridge.bridge.framed_transport.frame_parser import (
    FRAME,
    HEADER,
    SIGNAL,
    FrameParser,
    framed,
)
from snakepit_bridge.bridge.framed_transport.outbox import MAX_HELD, FramedOutbox
from snakepit_bridge.bridge.framed_transport.reception import RunTimeDeadline
from snakepit_bridge.frames import End, Log


@pytest.fixture
def transport() -> str:
    return "framed"


def stranger(worker: FakeHost) -> FramedSocket:
    return worker.connect()


def bye(connection: FramedSocket) -> str:
    """Returns the reason in the worker's last message, after which the connection ends."""
    said = connection.heard()
    assert said.kind == BYE
    with pytest.raises((EOFError, ConnectionError)):
        connection.receive()
    connection.close()
    reason: str = said.values[0]
    return reason


@pytest.mark.parametrize("token", ["", "0" * 64, "é", "x" * 3000])
def test_a_wrong_token_is_refused_and_closed(start: Host, token: str) -> None:
    worker = start("greeter")
    connection = stranger(worker)
    connection.say(HELLO, token)
    assert bye(connection) == "UNAUTHENTICATED"
    assert worker.converse().call("greet", ["Ada"]) == "Hello Ada!"


@pytest.mark.parametrize(
    "question",
    [(PING, 1), (DESCRIBE,), (LEAVE,), (99,)],
)
def test_without_the_token_nothing_is_answered(
    start: Host, question: tuple[int, ...]
) -> None:
    connection = stranger(start("greeter"))
    connection.say(*question)
    assert bye(connection) == "UNAUTHENTICATED"


@pytest.mark.parametrize(
    "data",
    [
        framed(FRAME, packed_call(1, "greet")),
        framed(SIGNAL, b"\xff\xff"),
        HEADER.pack(7, 0),
        HEADER.pack(SIGNAL, 4097),
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_a_first_message_other_than_hello_is_refused(start: Host, data: bytes) -> None:
    connection = stranger(start("greeter"))
    connection.socket.sendall(data)
    assert bye(connection) == "MALFORMED"


def test_nothing_may_follow_the_token_before_the_welcome(start: Host) -> None:
    worker = start("greeter")
    connection = stranger(worker)
    hello = msgpack.packb([HELLO, worker.token])
    connection.socket.sendall(2 * framed(SIGNAL, hello))
    assert bye(connection) == "MALFORMED"


def test_a_second_conversation_is_refused_while_one_is_open(start: Host) -> None:
    worker = start("greeter")
    first = worker.converse()
    second = stranger(worker)
    second.say(HELLO, worker.token)
    assert bye(second) == "BUSY"
    assert first.call("greet", ["Ada"]) == "Hello Ada!"


def test_silent_connections_make_room_for_new_ones(start: Host) -> None:
    worker = start("greeter")
    silent = [stranger(worker) for _ in range(40)]
    assert worker.converse().call("greet", ["Ada"]) == "Hello Ada!"
    # The first ones were closed, long before their time was over.
    assert silent[0].socket.recv(1) == b""
    for connection in silent:
        connection.close()


FULL = """
    import os
    import resource
    import time

    from snakepit_bridge import tool

    taken = []

    @tool
    def take_all() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        try:
            while True:
                taken.append(os.dup(1))
        except OSError:
            pass

    @tool
    def used_in(seconds: float) -> float:
        before = time.process_time()
        time.sleep(seconds)
        return time.process_time() - before

    @tool
    def give_back() -> None:
        for descriptor in taken:
            os.close(descriptor)
"""


def test_a_connection_waits_without_effort_while_the_worker_has_no_descriptor_left(
    start: Host,
) -> None:
    worker = start(FULL)
    conversation = worker.converse()
    conversation.call("take_all")
    guest = stranger(worker)
    assert conversation.call("used_in", [1.0]) < 0.3
    conversation.call("give_back")
    assert is_served(guest)
    guest.close()


def test_a_connection_that_sends_byte_by_byte_is_closed(start: Host) -> None:
    connection = stranger(start("greeter"))
    begun = time.monotonic()
    with pytest.raises(OSError):
        for byte in HEADER.pack(SIGNAL, 4000) + bytes(4000):
            connection.socket.sendall(bytes([byte]))
            time.sleep(0.05)
    assert time.monotonic() - begun < 20
    connection.close()


PATIENT = """
    from snakepit_bridge import tool
    from snakepit_bridge.bridge.framed_transport import reception

    reception.DEADLINE_S = {seconds}

    @tool
    def nothing() -> None:
        pass
"""


def is_served(connection: FramedSocket) -> bool:
    connection.say(HEALTH_CHECK)
    return connection.heard().values == [True]


def test_a_connection_without_a_token_is_closed(start: Host) -> None:
    connection = stranger(start(PATIENT.format(seconds=0.7)))
    assert is_served(connection)
    assert connection.socket.recv(1) == b""
    connection.close()


def test_time_in_which_the_worker_is_stopped_does_not_count_as_silence(
    start: Host,
) -> None:
    seconds = 2
    worker = start(PATIENT.format(seconds=seconds))
    guest = stranger(worker)
    assert is_served(guest)
    worker.signal(signal.SIGSTOP)
    # Nothing happens in this time; it is what the promise is about.
    time.sleep(seconds + 1)
    worker.signal(signal.SIGCONT)
    # It runs again, and has looked at what is due.
    later = stranger(worker)
    assert is_served(later)
    assert is_served(guest)
    for connection in (guest, later):
        connection.close()


def test_a_frame_beyond_the_limit_ends_the_conversation_with_the_reason(
    start: Host,
) -> None:
    worker = start("greeter", maxMessageBytes=100_000)
    connection = stranger(worker)
    connection.say(HELLO, worker.token)
    assert connection.heard().kind == WELCOME
    connection.socket.sendall(HEADER.pack(FRAME, 200_000))
    reason, message = connection.heard().values
    assert reason == "MALFORMED"
    assert "200000 bytes, the limit is 100000" in message
    assert worker.exit_status() == 0
    connection.close()


@pytest.mark.parametrize("data", [framed(FRAME, b"\xff\xff"), HEADER.pack(9, 1)])
def test_bytes_that_are_not_a_frame_end_the_conversation(
    start: Host, data: bytes
) -> None:
    worker = start("greeter")
    connection = stranger(worker)
    connection.say(HELLO, worker.token)
    assert connection.heard().kind == WELCOME
    connection.socket.sendall(data)
    assert connection.heard().values[0] == "MALFORMED"
    assert worker.exit_status() == 0
    connection.close()


def test_a_length_that_is_only_claimed_takes_no_memory(start: Host) -> None:
    worker = start("greeter", maxMessageBytes=1 << 30)
    conversation = worker.converse()
    assert isinstance(conversation, FramedConversation)
    before = resident(worker)
    conversation.connection.socket.sendall(HEADER.pack(FRAME, 1 << 29))
    for _ in range(2000):
        conversation.connection.socket.sendall(b"x")
    worker.signal(0)
    assert resident(worker) - before < 8 << 20


def resident(worker: FakeHost) -> int:
    pages = int(Path(f"/proc/{worker.pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def test_frames_arrive_whole_however_they_are_split(start: Host) -> None:
    worker = start("greeter")
    conversation = worker.converse()
    assert isinstance(conversation, FramedConversation)
    ping = msgpack.packb([PING, 5])
    for byte in 3 * framed(SIGNAL, ping):
        conversation.connection.socket.sendall(bytes([byte]))
    assert conversation.ask(PING, 6)[0] == 5
    assert conversation.call("echo", [bytes(3_000_000)]) == bytes(3_000_000)


# ---------------------------------- Frames on their way to a framed connection


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


# ------------------------ Deadlines count only time in which this process runs


class Timer:
    def __init__(self, when: float, callback: Callable[[], object]) -> None:
        self.when = when
        self.callback = callback
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class VirtualTimers:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self._now = 1_000.0
        self._timers: list[Timer] = []

    def as_loop(self) -> asyncio.AbstractEventLoop:
        return cast(asyncio.AbstractEventLoop, self)

    def time(self) -> float:
        return self._now

    def call_at(self, when: float, callback: Callable[[], object]) -> Timer:
        timer = Timer(when, callback)
        self._timers.append(timer)
        return timer

    def stall(self, seconds: float) -> None:
        """The process stands still: what is due then is late."""
        self._now += seconds

    def run(self, seconds: float) -> None:
        """Time passes, and what is due happens."""
        end = self._now + seconds
        while due := [timer for timer in self._timers if timer.when <= end]:
            timer = min(due, key=lambda each: each.when)
            self._timers.remove(timer)
            self._now = max(self._now, timer.when)
            if not timer.is_cancelled:
                timer.callback()
        self._now = end


def acts_at(seconds: float, stall_after: float, stalled: float) -> float:
    """Returns when `seconds` are over for one who stands still in between."""
    time = VirtualTimers()
    began = time.time()
    acted: list[float] = []
    RunTimeDeadline(time.as_loop(), seconds, lambda: acted.append(time.time() - began))
    time.run(stall_after)
    time.stall(stalled)
    time.run(1_000)
    (when,) = acted
    return when


@pytest.mark.parametrize(
    ("seconds", "after", "stopped", "acts"),
    [
        *((seconds, 0, 0, seconds) for seconds in (0.0, 0.1, 0.5, 0.75, 5.0)),
        # Hardly any of a minute counts, and all of a moment.
        *((5, 0.25, 60, 65.25), (5, 4.75, 60, 65.25), (0.25, 0.125, 60, 60.375)),
        (5, 2.375, 0.375, 5.25),
    ],
)
def test_only_time_in_which_the_process_runs_counts(
    seconds: float, after: float, stopped: float, acts: float
) -> None:
    assert acts_at(seconds, after, stopped) == pytest.approx(acts)


def test_a_cancelled_deadline_does_nothing() -> None:
    time = VirtualTimers()
    acted: list[bool] = []
    deadline = RunTimeDeadline(time.as_loop(), 5, lambda: acted.append(True))
    time.run(2)
    deadline.cancel()
    time.run(10)
    assert acted == []
