"""Back-calls: functions of the host, called by a tool over the same stream."""

from __future__ import annotations

import pytest
from conftest import Host
from support.conversation import Conversation

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

BOTH_TRANSPORTS_IN_CHECK = True

TOOLS = """
    import threading
    from typing import Any
    from snakepit_bridge import HostCallFailed, current_call, tool

    @tool
    def ask(question: Any) -> Any:
        return current_call().host("answer", question)

    @tool
    async def ask_later(question: Any) -> Any:
        return await current_call().host_async("answer", question)

    @tool
    async def blocks_the_loop() -> Any:
        return current_call().host("answer")

    @tool
    def leaves_a_thread() -> None:
        call = current_call()
        def ask() -> None:
            try:
                call.host("answer")
            except HostCallFailed as error:
                call.logger.warning("left behind: %s", error.code)
        threading.Thread(target=ask).start()
        while not call._host.replies:
            pass

    @tool
    def asks_too_much(size: int) -> Any:
        return current_call().host("answer", bytes(size))
"""

BOTH = pytest.mark.parametrize("tool", ["ask", "ask_later"])


def asked(conversation: Conversation) -> pb.HostCall:
    """Returns the next frame, which is a host call."""
    frame = conversation.receive()
    assert frame.HasField("host_call"), frame
    return frame.host_call


def answer(conversation: Conversation, question: pb.HostCall, value: object) -> None:
    """Answers a host call."""
    image = encode(value)
    number = question.host_call_id
    conversation.send(host_result=pb.HostResult(host_call_id=number, value=image))


@BOTH
@pytest.mark.parametrize("calls_per_worker", [1, 2])
def test_a_tool_gets_the_hosts_answer(
    shared: Host, tool: str, calls_per_worker: int
) -> None:
    conversation = shared(TOOLS, callsPerWorker=calls_per_worker).converse()
    call_id = conversation.begin(tool, [{"n": 1}])
    question = asked(conversation)
    assert question.call_id == call_id
    assert question.function == "answer"
    assert decode(question.argument) == {"n": 1}
    answer(conversation, question, [42])
    assert decode(conversation.terminal(call_id).result.value) == [42]


@BOTH
def test_a_tool_that_waits_for_the_host_can_be_cancelled(
    shared: Host, tool: str
) -> None:
    conversation = shared(TOOLS).converse()
    call_id = conversation.begin(tool, [1])
    question = asked(conversation)
    conversation.cancel(call_id)
    # The host is notified that nothing waits for the answer any more.
    dropped = conversation.receive()
    assert dropped.host_call_cancel.host_call_id == question.host_call_id
    failure = conversation.terminal(call_id).failure
    assert failure.kind == pb.FAILURE_KIND_CANCELLED


def test_a_host_call_fails_when_its_call_is_over(
    shared: Host,
) -> None:
    conversation = shared(TOOLS).converse()
    conversation.call("leaves_a_thread")
    assert conversation.logs.get(timeout=30).message == "left behind: CALL_OVER"


def test_an_asynchronous_tool_must_not_block_its_loop(shared: Host) -> None:
    failure = shared(TOOLS).converse().failure("blocks_the_loop")
    assert failure.error.type == "RuntimeError"
    assert "await host_async()" in failure.message


def test_an_argument_that_cannot_cross_raises_in_the_tool(shared: Host) -> None:
    source = (
        TOOLS
        + """
    @tool
    def asks_odd() -> None:
        current_call().host("answer", {"a": object()})
    """
    )
    failure = shared(source).converse().failure("asks_odd")
    assert failure.kind == pb.FAILURE_KIND_TOOL_FAILED
    assert failure.error.type == "snakepit_bridge.ValueNotTransferable"
    assert "$.a has the type object" in failure.message


def test_an_argument_over_the_limit_raises_in_the_tool(shared: Host) -> None:
    conversation = shared(TOOLS, maxMessageBytes=50_000).converse()
    failure = conversation.failure("asks_too_much", [50_000])
    assert "ARGUMENT_TOO_LARGE" in failure.message
