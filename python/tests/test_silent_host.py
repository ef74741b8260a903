"""A host that is stopped lives: gRPC must not end its conversation for being silent.

By itself gRPC does so after a minute. That each of its limits is ours to set is seen
with a short one.
"""

from __future__ import annotations

import pytest
from conftest import Host
from support.silent_client import PING, SETTINGS, SilentClient

from snakepit_bridge.bridge.grpc_transport import server


@pytest.fixture
def transport() -> str:
    return "grpc"


# What gRPC reads as "for ever": it keeps milliseconds in a C int.
FOR_EVER = 2**31 - 1

IMPATIENT = """
    from snakepit_bridge import tool
    from snakepit_bridge.bridge.grpc_transport import server

    server.HOST_SILENCE.update({limits!r})

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
        client.ask("/snakepit.bridge.v1.Bridge/Converse")
        assert unanswered in list(client.until_closed())
