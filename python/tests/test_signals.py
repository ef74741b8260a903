"""Signals are read and written as protobuf does it."""

from __future__ import annotations

import random

import pytest
from google.protobuf.message import DecodeError

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.framed_transport import signals
from snakepit_bridge.bridge.host_frames import Undecodable

NUMBERS = [0, 1, 127, 128, 300, (1 << 32) - 1, (1 << 64) - 1]
# A field that no release has, of each kind.
UNKNOWN = [
    b"",
    b"\xc8\x3e\x07",
    b"\xca\x3e\x02hi",
    b"\xcd\x3e0123",
    b"\xc9\x3e01234567",
]


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_a_token_is_read(unknown: bytes) -> None:
    hello = pb.Hello(token="é" * 100).SerializeToString() + unknown
    signal = pb.HostSignal(hello=pb.Hello.FromString(hello)).SerializeToString()
    kind, body = signals.kind_of(unknown + signal + unknown)
    assert kind == "hello"
    assert signals.token_of(body) == ("é" * 100).encode()


def test_parts_of_one_signal_are_merged_and_of_two_the_last_counts() -> None:
    hello = pb.HostSignal(hello=pb.Hello(token="secret")).SerializeToString()
    empty = pb.HostSignal(hello=pb.Hello()).SerializeToString()
    ping = pb.HostSignal(ping=pb.PingRequest(sequence=1)).SerializeToString()
    assert pb.HostSignal.FromString(hello + empty).hello.token == "secret"
    assert signals.token_of(signals.kind_of(hello + empty)[1]) == b"secret"
    assert pb.HostSignal.FromString(hello + ping + empty).hello.token == ""
    assert signals.token_of(signals.kind_of(hello + ping + empty)[1]) == b""


@pytest.mark.parametrize("number", NUMBERS)
def test_pings_are_read_and_answered(number: int) -> None:
    ping = pb.HostSignal(ping=pb.PingRequest(sequence=number)).SerializeToString()
    kind, body = signals.kind_of(ping)
    assert (kind, signals.sequence_of(body)) == ("ping", number)
    answer = pb.WorkerSignal.FromString(signals.ping(number, 3, number))
    assert answer == pb.WorkerSignal(
        ping=pb.PingResponse(sequence=number, calls_running=3, cpu_time_us=number)
    )


def test_what_a_worker_says_is_what_protobuf_writes() -> None:
    for said, means in (
        (signals.WELCOME, pb.WorkerSignal(welcome=pb.Welcome())),
        (signals.health(True), pb.WorkerSignal(health=pb.HealthResponse(serving=True))),
        (signals.health(False), pb.WorkerSignal(health=pb.HealthResponse())),
        (
            signals.bye(signals.LEFT, "é" * 200),
            pb.WorkerSignal(bye=pb.Bye(reason=pb.BYE_REASON_LEFT, message="é" * 200)),
        ),
    ):
        assert said == means.SerializeToString()
    assert (
        signals.LEFT,
        signals.UNAUTHENTICATED,
        signals.BUSY,
        signals.MALFORMED,
    ) == (
        pb.BYE_REASON_LEFT,
        pb.BYE_REASON_UNAUTHENTICATED,
        pb.BYE_REASON_BUSY,
        pb.BYE_REASON_MALFORMED,
    )


def test_any_bytes_are_read_as_protobuf_reads_them_or_are_none() -> None:
    chance = random.Random(7)
    read = 0
    for _ in range(50_000):
        # Tags and lengths, more often than what is neither.
        data = bytes(
            chance.choice((0x0A, 0x12, 0x08, 1, 2, 3, 0x80, chance.randrange(256)))
            for _ in range(chance.randrange(12))
        )
        try:
            means = pb.HostSignal.FromString(data)
        except DecodeError:
            means = None
        try:
            kind, body = signals.kind_of(data)
            token, sequence = b"", 0
            if kind == "hello":
                token = signals.token_of(body)
            elif kind == "ping":
                sequence = signals.sequence_of(body)
        except Undecodable:
            # Groups, which nobody writes any more, are refused.
            assert means is None or any(byte & 7 in (3, 4) for byte in data)
            continue
        if means is None:
            # A worker looks into no part that has no fields or that a later one replaces.
            continue
        read += 1
        assert kind == means.WhichOneof("signal")
        assert token == means.hello.token.encode()
        assert sequence == means.ping.sequence
    assert read > 1000
