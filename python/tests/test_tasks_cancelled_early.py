"""Tools that cancel every task that they find, also those that have not taken a step."""

from __future__ import annotations

from conftest import Host
from support.batches import AT_ONCE, settled

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb

BOTH_TRANSPORTS_IN_CHECK = True

TOOLS = """
    import asyncio
    import os
    from collections.abc import AsyncIterator
    from snakepit_bridge import Batch, current_call, tool

    reader, writer = os.pipe()

    @tool
    async def cancel_others(turns: int) -> None:
        current_call().logger.info("blocks")
        os.read(reader, 1)
        # The loop makes the tasks of what came meanwhile.
        for _ in range(turns):
            await asyncio.sleep(0)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    @tool
    def release() -> int:
        return os.write(writer, b"x")

    @tool(batch=Batch(max=4, wait_ms=0))
    async def together(items: list[str]) -> list[str]:
        return items

    @tool
    async def counts() -> AsyncIterator[int]:
        yield 1
"""


def test_a_call_whose_task_a_tool_cancelled_before_it_began_runs(start: Host) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    canceller = conversation.begin("cancel_others", [1])
    assert conversation.logs.get(timeout=30).message == "blocks"
    stream = conversation.begin("counts", stream_credit=8)
    conversation.begin("release")
    kinds: dict[int, str] = {}
    while len(kinds) < 2:
        frame = conversation.receive()
        kind = frame.WhichOneof("frame") or ""
        if kind in ("result", "end", "failure"):
            call_id = getattr(frame, kind).call_id
            if call_id in (canceller, stream):
                kinds[call_id] = kind
    assert kinds == {canceller: "result", stream: "end"}


def test_a_batch_whose_task_a_tool_cancelled_before_it_began_ends(start: Host) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    canceller = conversation.begin("cancel_others", [2])
    assert conversation.logs.get(timeout=30).message == "blocks"
    call = conversation.begin("together", ["a"])
    conversation.begin("release")
    found = settled(conversation, [canceller, call])
    assert found[call].kind == pb.FAILURE_KIND_TOOL_FAILED
    assert found[call].error.type == "asyncio.exceptions.CancelledError"
    # The next batch is not kept from its turn.
    assert conversation.call("together", ["b"]) == "b"
