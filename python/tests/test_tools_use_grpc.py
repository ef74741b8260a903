"""Tools that speak gRPC themselves, beside the bridge."""

from __future__ import annotations

import pytest
from conftest import Host

TOOLS = """
import asyncio
import os
import tempfile

import grpc
from grpc import aio

from snakepit_bridge import tool

async def greeted(name: str) -> str:
    async def greet(request: bytes, context) -> bytes:
        await asyncio.sleep(0)
        return b"hello " + request

    handler = grpc.unary_unary_rpc_method_handler(greet)
    with tempfile.TemporaryDirectory() as directory:
        path = f"unix:{os.path.join(directory, 'socket')}"
        server = aio.server()
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("Greeter", {"Greet": handler}),)
        )
        server.add_insecure_port(path)
        await server.start()
        async with aio.insecure_channel(path) as channel:
            answer = await channel.unary_unary("/Greeter/Greet")(name.encode())
        await server.stop(None)
    return answer.decode()

@tool
async def asynchronous(name: str) -> str:
    return await greeted(name)

@tool
def synchronous(name: str) -> str:
    return asyncio.run(greeted(name))
"""


@pytest.mark.parametrize("name", ["asynchronous", "synchronous"])
def test_a_tool_may_have_a_server_and_a_channel_of_its_own(
    start: Host, name: str
) -> None:
    conversation = start(TOOLS).converse()
    for number in range(3):
        assert conversation.call(name, [f"{number}"]) == f"hello {number}"
    calls = [conversation.begin(name, ["x"]) for _ in range(10)]
    answered = {conversation.receive().result.call_id for _ in calls}
    assert answered == set(calls)
