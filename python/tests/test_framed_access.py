"""Access to a worker over the framed transport: tokens, limits, silent connections."""

from __future__ import annotations

import resource
import signal
import socket
import time
from pathlib import Path

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
from support.packed_frames import packed_call

from snakepit_bridge import __version__
from snakepit_bridge.bridge.framed_transport.frame_parser import (
    FRAME,
    HEADER,
    SIGNAL,
    framed,
)


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


def test_health_is_reported_without_a_token(start: Host) -> None:
    connection = stranger(start("greeter"))
    for _ in range(2):
        connection.say(HEALTH_CHECK)
        assert connection.heard().values == [True]
    connection.close()


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


def test_a_ping_is_answered_while_a_tool_blocks(start: Host) -> None:
    worker = start("stuck")
    conversation = worker.converse()
    assert isinstance(conversation, FramedConversation)
    call_id = conversation.begin("is_busy")
    worker.wait_for_stderr(f"begun {call_id}")
    for n in range(3):
        assert conversation.ask(PING, n)[:2] == [n, 1]


def test_the_tools_are_described(start: Host) -> None:
    described = start("greeter").converse().unary("Describe", None, None)
    assert described.bridge_version == __version__
    assert "greet" in {tool.name for tool in described.tools}


def test_a_framed_worker_does_not_import_grpc(start: Host) -> None:
    worker = start(
        """
        import sys
        from snakepit_bridge import tool

        @tool
        def has_grpc() -> bool:
            return any(name.split(".")[0] == "grpc" for name in sys.modules)
        """
    )
    assert worker.converse().call("has_grpc") is False


def test_no_other_user_may_open_the_socket(start: Host) -> None:
    worker = start("greeter")
    assert Path(worker.socket_path).stat().st_mode & 0o777 == 0o600
    conversation = worker.converse()
    conversation.half_close()
    assert worker.exit_status() == 0


def test_a_host_that_only_hangs_up_is_a_broken_conversation(start: Host) -> None:
    worker = start("stuck")
    connection = stranger(worker)
    connection.say(HELLO, worker.token)
    assert connection.heard().kind == WELCOME
    connection.socket.shutdown(socket.SHUT_RDWR)
    connection.close()
    assert worker.exit_status() == 0
