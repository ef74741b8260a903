"""Arguments of a batch whose check is code of the tools, and blocks."""

from __future__ import annotations

from conftest import Host
from support.batches import AT_ONCE

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb

BOTH_TRANSPORTS_IN_CHECK = True

TOOLS = """
    import os
    from dataclasses import dataclass
    from snakepit_bridge import Batch, current_call, tool

    reader, writer = os.pipe()

    @dataclass
    class Item:
        name: str

        def __post_init__(self) -> None:
            current_call().logger.info("blocks")
            os.read(reader, 1)

    @tool(batch=Batch(max=4, wait_ms=0))
    async def together(items: list[Item]) -> list[str]:
        return [item.name for item in items]

    @tool
    def release() -> int:
        return os.write(writer, b"x")
"""


def test_a_worker_answers_pings_while_arguments_of_a_batch_are_checked(
    start: Host,
) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    call = conversation.begin("together", [{"name": "a"}])
    assert conversation.logs.get(timeout=30).message == "blocks"
    conversation.unary("Ping", pb.PingRequest(sequence=1), pb.PingResponse.FromString)
    conversation.begin("release")
    assert conversation.terminal(call).HasField("result")
