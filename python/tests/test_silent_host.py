"""A host that is stopped lives: gRPC must not end its conversation for being silent.

By itself gRPC does so after a minute. That each of its limits is ours to set is seen
with a short one. Nor does gRPC send anything by itself to a host that sends little.
"""

from __future__ import annotations

import pytest
from conftest import Host
from support.silent_client import DATA, PING, SETTINGS, SilentClient

from snakepit_bridge.bridge.grpc_transport import server
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb

CONVERSE = "/snakepit.bridge.v1.Bridge/Converse"


@pytest.fixture
def transport() -> str:
    return "grpc"


# What gRPC reads as "for ever": it keeps milliseconds in a C int.
FOR_EVER = 2**31 - 1

IMPATIENT = """
    from snakepit_bridge import tool
    from snakepit_bridge.bridge.grpc_transport import server

    server.HOST_SILENCE.update({limits!r})
    server.NO_BANDWIDTH_PINGS.clear()

    @tool
    def nothing() -> None:
        pass
"""


def test_the_silence_of_a_host_has_no_limit() -> None:
    assert server.HOST_SILENCE == {
        "grpc.http2.ping_timeout_ms": FOR_EVER,
        "grpc.http2.settings_timeout": FOR_EVER,
        "grpc.keepalive_time_ms": FOR_EVER,
    }


# Without keep-alive gRPC minds no silence at all; this is what it has by itself.
ITS_OWN = {"grpc.keepalive_time_ms": 7_200_000}


@pytest.mark.parametrize(
    ("limits", "unanswered"),
    [
        ({"grpc.http2.ping_timeout_ms": 300, **ITS_OWN}, PING),
        ({"grpc.http2.settings_timeout": 300, **ITS_OWN}, SETTINGS),
    ],
    ids=["ping", "settings"],
)
def test_each_limit_is_what_ends_a_silent_connection(
    start: Host, limits: dict[str, int], unanswered: int
) -> None:
    worker = start(IMPATIENT.format(limits=limits))
    with SilentClient(worker.socket_path, worker.token) as client:
        if unanswered != SETTINGS:
            client.acknowledge_settings()
        client.ask(CONVERSE)
        assert unanswered in list(client.until_closed())


BY_ITSELF = """
    from snakepit_bridge import tool
    from snakepit_bridge.bridge.grpc_transport import server

    server.NO_BANDWIDTH_PINGS.clear()

    @tool
    def nothing() -> None:
        pass
"""


@pytest.mark.parametrize(
    ("tools", "pings"),
    [("greeter", False), (BY_ITSELF, True)],
    ids=["ours", "by itself"],
)
def test_a_heartbeat_is_answered_and_nothing_else_is_sent(
    start: Host, tools: str, pings: bool
) -> None:
    worker = start(tools)
    beat = pb.HostFrame(ping=pb.PingRequest(sequence=7))
    kinds = []
    with SilentClient(worker.socket_path, worker.token) as client:
        client.acknowledge_settings()
        client.ask(CONVERSE)
        client.say(beat.SerializeToString())
        for kind, body in client.frames():
            kinds.append(kind)
            if kind == DATA and pb.WorkerFrame.FromString(body[5:]).HasField("ping"):
                break
    assert (PING in kinds) == pings
