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

from snakepit_bridge import __version__
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb


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


def test_without_the_token_there_is_no_conversation(start: Host) -> None:
    worker = start("greeter")
    worker.token = "0" * 64
    stranger = worker.converse()
    stranger.begin("greet", ["Eve"])
    with pytest.raises(grpc.RpcError) as caught:
        stranger.receive()
    assert status(caught) is grpc.StatusCode.UNAUTHENTICATED


def test_a_stranger_does_not_disturb_the_conversation(start: Host) -> None:
    worker = start("greeter")
    conversation = worker.converse()
    worker.token = "0" * 64
    stranger = worker.converse()
    with pytest.raises(grpc.RpcError):
        stranger.receive()
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


def test_a_ping_is_answered_while_a_tool_blocks(start: Host) -> None:
    worker = start("stuck")
    conversation = worker.converse()
    call_id = conversation.begin("is_busy")
    worker.wait_for_stderr(f"begun {call_id}")
    answers = [
        conversation.unary(
            "Ping", pb.PingRequest(sequence=n), pb.PingResponse.FromString
        )
        for n in range(3)
    ]
    assert [answer.sequence for answer in answers] == [0, 1, 2]
    assert [answer.calls_running for answer in answers] == [1, 1, 1]
    times = [answer.cpu_time_us for answer in answers]
    assert times == sorted(times)
    assert times[0] > 0


def test_a_ping_frame_is_answered_while_a_tool_blocks(start: Host) -> None:
    worker = start("stuck")
    conversation = worker.converse()
    call_id = conversation.begin("is_busy")
    worker.wait_for_stderr(f"begun {call_id}")
    answers = []
    for n in range(3):
        conversation.send(ping=pb.PingRequest(sequence=n))
        answers.append(conversation.receive().ping)
    assert [answer.sequence for answer in answers] == [0, 1, 2]
    assert [answer.calls_running for answer in answers] == [1, 1, 1]
    assert 0 < answers[0].cpu_time_us <= answers[2].cpu_time_us


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
