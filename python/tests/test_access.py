"""Access to a worker over gRPC: tokens, limits, health, pings, descriptions."""

from __future__ import annotations

import json
import os
import queue
import threading
from pathlib import Path
from typing import Any

import grpc
import jsonschema
import pytest
from conftest import Host
from support.fake_host import FakeHost
from support.packed_frames import packed_call
from support.silent_client import DATA, PING, SETTINGS, SilentClient

from snakepit_bridge import __version__
from snakepit_bridge.bridge.grpc_transport import server
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode


@pytest.fixture
def transport() -> str:
    return "grpc"


HEALTH = "/grpc.health.v1.Health/"
SERVING = b"\x08\x01"
NOT_SERVING = b"\x08\x02"


def status(caught: pytest.ExceptionInfo[grpc.RpcError]) -> grpc.StatusCode:
    code: grpc.StatusCode = caught.value.code()
    return code


WRONG_TOKENS = [
    (),
    (("snakepit-token", ""),),
    (("snakepit-token", "0" * 64),),
    (("authorization", "Bearer x"),),
]


@pytest.mark.parametrize("metadata", WRONG_TOKENS)
@pytest.mark.parametrize("method", ["Ping", "Describe"])
def test_without_the_token_no_question_is_answered(
    shared: Host, metadata: Any, method: str
) -> None:
    conversation = shared("greeter").converse()
    with pytest.raises(grpc.RpcError) as caught:
        conversation.unary(method, b"", bytes, metadata=metadata)
    assert status(caught) is grpc.StatusCode.UNAUTHENTICATED


def test_a_stranger_has_no_conversation_and_does_not_disturb_the_open_one(
    start: Host,
) -> None:
    worker = start("greeter")
    conversation = worker.converse()
    worker.token = "0" * 64
    stranger = worker.converse()
    stranger.begin("greet", ["Eve"])
    with pytest.raises(grpc.RpcError) as caught:
        stranger.receive()
    assert status(caught) is grpc.StatusCode.UNAUTHENTICATED
    assert conversation.call("greet", ["Ada"]) == "Hello Ada!"


def test_a_second_conversation_is_refused_while_one_is_open(start: Host) -> None:
    worker = start("greeter")
    first = worker.converse()
    first.call("greet", ["Ada"])
    second = worker.converse()
    with pytest.raises(grpc.RpcError) as caught:
        second.receive()
    assert status(caught) is grpc.StatusCode.FAILED_PRECONDITION
    assert first.call("greet", ["Ada"]) == "Hello Ada!"


def test_metadata_beyond_the_limit_is_refused(shared: Host) -> None:
    conversation = shared("greeter").converse()
    flood = (*conversation.metadata, ("x-flood", "x" * 40_000))
    with pytest.raises(grpc.RpcError) as caught:
        conversation.unary("Ping", b"", bytes, metadata=flood)
    assert status(caught) is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_a_frame_beyond_the_limit_breaks_the_stream(start: Host) -> None:
    worker = start("greeter", maxMessageBytes=100_000)
    conversation = worker.converse()
    conversation.begin("echo", [bytes(200_000)])
    with pytest.raises(grpc.RpcError):
        conversation.receive()
    assert worker.exit_status() == 0


@pytest.mark.parametrize(
    "service", [b"", b"\x0a\x00", b"\x0a\x19snakepit.bridge.v1.Bridge"]
)
def test_health_is_reported_without_a_token(shared: Host, service: bytes) -> None:
    conversation = shared("greeter").converse()
    answer = conversation.unary(f"{HEALTH}Check", service, bytes, metadata=())
    assert answer == SERVING


@pytest.mark.parametrize("service", [b"\x0a\x05other", b"\x10\x01", b"\x0a\x05x"])
def test_the_health_of_another_service_is_not_found(
    shared: Host, service: bytes
) -> None:
    conversation = shared("greeter").converse()
    with pytest.raises(grpc.RpcError) as caught:
        conversation.unary(f"{HEALTH}Check", service, bytes)
    assert status(caught) is grpc.StatusCode.NOT_FOUND


def watch(worker: FakeHost, service: bytes) -> queue.Queue[bytes | None]:
    """Watches the health, in a thread."""
    channel = grpc.insecure_channel(f"unix:{worker.socket_path}")
    answers: queue.Queue[bytes | None] = queue.Queue()

    def read() -> None:
        try:
            watched: Any = channel.unary_stream(f"{HEALTH}Watch")
            for answer in watched(service):
                answers.put(answer)
        except grpc.RpcError:
            answers.put(None)
        channel.close()

    threading.Thread(target=read).start()
    return answers


def test_a_watcher_sees_the_worker_leave(start: Host, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    worker = start(
        f"""
        from snakepit_bridge import on_shutdown, tool

        @on_shutdown
        def stop() -> None:
            open({str(gate)!r}).close()

        @tool
        def f() -> None: ...
        """
    )
    conversation = worker.converse()
    answers = watch(worker, b"")
    assert answers.get(timeout=30) == SERVING
    conversation.half_close()
    assert answers.get(timeout=30) == NOT_SERVING
    gate.write_bytes(b"")
    assert answers.get(timeout=30) is None
    assert worker.exit_status() == 0


def test_watching_another_service_reports_it_as_unknown(shared: Host) -> None:
    answers = watch(shared("greeter"), b"\x0a\x05other")
    assert answers.get(timeout=30) == b"\x08\x03"


@pytest.mark.parametrize("way", ["as a question", "in the conversation"])
def test_a_ping_is_answered_while_a_tool_blocks(start: Host, way: str) -> None:
    worker = start("stuck")
    conversation = worker.converse()
    call_id = conversation.begin("is_busy")
    worker.wait_for_stderr(f"begun {call_id}")
    answers = []
    for n in range(3):
        ping = pb.PingRequest(sequence=n)
        if way == "as a question":
            answer = conversation.unary("Ping", ping, pb.PingResponse.FromString)
        else:
            conversation.send(ping=ping)
            answer = conversation.receive().ping
        answers.append(answer)
    assert [answer.sequence for answer in answers] == [0, 1, 2]
    assert [answer.calls_running for answer in answers] == [1, 1, 1]
    times = [answer.cpu_time_us for answer in answers]
    assert times == sorted(times)
    assert times[0] > 0


def test_the_tools_are_described_with_their_schemas(shared: Host) -> None:
    conversation = shared("greeter").converse()
    described = conversation.unary("Describe", b"", pb.DescribeResponse.FromString)
    assert described.bridge_version == __version__
    tools = {tool.name: tool for tool in described.tools}
    assert list(tools) == sorted(tools)
    assert tools["greet"].description == "Greets somebody."
    assert tools["greet"].shape == pb.TOOL_SHAPE_UNARY
    assert tools["count_later"].shape == pb.TOOL_SHAPE_STREAM
    assert not tools["greet"].reads_input
    schema = json.loads(tools["greet"].arguments_schema_json)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["required"] == ["name"]
    assert json.loads(tools["count"].result_schema_json) == {"type": "integer"}


def test_silence_of_the_host_is_warned_about_once(start: Host) -> None:
    conversation = start("greeter", silenceWarnMs=200).converse()
    log = conversation.logs.get(timeout=30)
    assert log.message == "no ping from the host for 0.2 s"
    assert log.level == 30
    with pytest.raises(queue.Empty):
        conversation.logs.get(timeout=0.6)
    conversation.unary("Ping", b"", pb.PingResponse.FromString)
    assert "no ping" in conversation.logs.get(timeout=30).message


# ------------------------- Several frames in one message of the gRPC transport

SIZES = """
from snakepit_bridge import tool

@tool
async def size(of: int) -> bytes:
    return bytes(of)
"""


def call_of_size(number: int, image: bytes) -> bytes:
    """Every other one packed."""
    if number % 2 == 0:
        return packed_call(number, "size", image)
    call = pb.Call(call_id=number, tool="size", arguments=image)
    return pb.HostFrame(call=call).SerializeToString()


def test_frames_of_a_batch_are_handled_in_order(start: Host) -> None:
    conversation = start("greeter", transport="grpc").converse()
    image = encode({"name": "you"})
    calls = [
        pb.HostFrame(
            call=pb.Call(call_id=n, tool="greet", arguments=image)
        ).SerializeToString()
        for n in range(1, 101)
    ]
    conversation.send(batch=pb.HostFrames(frames=calls))
    answered = [conversation.receive().result.call_id for _ in calls]
    assert answered == list(range(1, 101))


def test_a_batch_within_a_batch_is_ignored(start: Host) -> None:
    conversation = start("greeter", transport="grpc").converse()
    call = pb.HostFrame(call=pb.Call(call_id=1, tool="greet"))
    inner = pb.HostFrame(batch=pb.HostFrames(frames=[call.SerializeToString()]))
    conversation.send(batch=pb.HostFrames(frames=[inner.SerializeToString()]))
    log = conversation.logs.get(timeout=30)
    assert "of an unknown kind" in log.message
    assert conversation.call("greet", {"name": "you"}) == "Hello you!"


def test_small_results_leave_together_and_large_ones_alone(start: Host) -> None:
    conversation = start(SIZES, transport="grpc").converse()
    sizes = [10, 20_000, 10, 10, 70_000, 15_000, 15_000, 15_000, 15_000, 15_000] * 5
    frames = [call_of_size(n, encode([size])) for n, size in enumerate(sizes, 1)]
    conversation.send(batch=pb.HostFrames(frames=frames))
    # In any order: none is promised of calls that a host sends at once.
    results = [conversation.receive().result for _ in sizes]
    answered = {result.call_id: len(decode(result.value)) for result in results}
    assert answered == dict(enumerate(sizes, 1))
    messages = conversation.messages
    assert len(messages) < len(sizes)
    for message in messages:
        if message.HasField("batch"):
            assert all(len(f) <= 17 << 10 for f in message.batch.frames[1:])
            assert message.ByteSize() <= 64 << 10


def test_no_batch_is_larger_than_a_message_may_be(start: Host) -> None:
    conversation = start(SIZES, transport="grpc", maxMessageBytes=1000).converse()
    image = encode([100])
    for begin in range(1, 101, 10):
        calls = [call_of_size(n, image) for n in range(begin, begin + 10)]
        conversation.send(batch=pb.HostFrames(frames=calls))
    # In any order: none is promised of calls that a host sends at once.
    results = [conversation.receive().result.call_id for _ in range(100)]
    assert sorted(results) == list(range(1, 101))
    assert max(message.ByteSize() for message in conversation.messages) <= 1000


# -------- A host that is stopped lives: gRPC must not end its conversation for being silent
#
# By itself gRPC does so after a minute. That each of its limits is ours to set is seen
# with a short one. Nor does gRPC send anything by itself to a host that sends little.

CONVERSE = "/snakepit.bridge.v1.Bridge/Converse"


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
