"""Tools that run calls together, and what the tests of batches do with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from snakepit_bridge.values.decode import decode
from support.conversation import Conversation
from support.fake_host import FakeHost

AT_ONCE = 16

TOOLS = """
    import asyncio
    import functools
    import os
    import time
    from typing import Any
    from snakepit_bridge import Batch, CallCancelled, current_batch, current_call, tool, toolset

    reader, writer = os.pipe()
    interrupted, sizes, seen = [], [], []

    def worked(items: list[Any]) -> list[Any]:
        sizes.append(len(items))
        if "invalid" in items:
            return "abc"
        if "short" in items:
            return items[1:]
        if "raises" in items:
            raise ValueError("for all")
        return [KeyError(item) if item == "error" else item for item in items]

    def passing(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(items: Any) -> Any:
            return function(items)

        return wrapper

    def running(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(items: Any) -> Any:
            return asyncio.run(function(items))

        return wrapper

    def listing(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(items: Any) -> Any:
            return list(function(items))

        return wrapper

    def block() -> None:
        current_call().logger.info("blocks")
        os.read(reader, 1)

    def answer(items: list[Any]) -> list[Any]:
        if "block" in items:
            block()
        return worked(items)

    @tool(batch=Batch(max=4, wait_ms=0))
    def together(items: list[str]) -> list[str | Exception]:
        return answer(items)

    @tool(batch=Batch(max=4, wait_ms=0))
    async def later(items: list[str]) -> list[str | Exception]:
        if "block the loop" in items:
            block()
        if "block" in items:
            await asyncio.to_thread(block)
        return worked(items)

    async def answer_later(items: list[str]) -> list[str | Exception]:
        if "block" in items:
            await asyncio.to_thread(block)
        return worked(items)

    passed = tool(name="passed", batch=Batch(max=4, wait_ms=0))(passing(answer_later))
    ran = tool(name="ran", batch=Batch(max=4, wait_ms=0))(running(answer_later))

    @tool(batch=Batch(max=4, wait_ms=0))
    @listing
    def listed(items: list[str]):
        yield from answer(items)

    @tool
    def release() -> int:
        return os.write(writer, b"x")

    @tool
    def found_sizes() -> list[int]:
        found = sizes[:]
        sizes.clear()
        return found

    @tool(batch=Batch(max=4, wait_ms=0))
    def busy(items: list[str]) -> list[str]:
        current_call().logger.info("busy")
        try:
            while True:
                time.sleep(0.001)
        except CallCancelled as cancel:
            interrupted.append(cancel.reason.name)
            raise

    @tool(batch=Batch(max=4, wait_ms=0))
    async def busy_later(items: list[str]) -> list[str]:
        current_call().logger.info("busy")
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            interrupted.append(current_call().cancel_reason.name)
            raise

    @tool(batch=Batch(max=4, wait_ms=0))
    @passing
    async def busy_passed(items: list[str]) -> list[str]:
        return await busy_later(items)

    @tool
    def found_interrupted() -> list[str]:
        return interrupted

    @tool(batch=Batch(max=4, wait_ms=0))
    def sessions(items: list[str]) -> list[Any]:
        answer(items)
        for call in current_batch():
            if call.session is not None:
                call.session["calls"] = call.session.get("calls", 0) + 1
        return [call.session and call.session["calls"] for call in current_batch()]

    @toolset
    class Model:
        def __init__(self) -> None:
            self.ran = 0

        @tool(batch=Batch(max=4, wait_ms=0))
        def passes(self, items: list[str]) -> list[int]:
            answer(items)
            self.ran += 1
            return [self.ran for _ in items]

    @tool(batch=Batch(max=4, wait_ms=0))
    def asks(items: list[str]) -> list[str]:
        return [call.host("name", item) for call, item in zip(current_batch(), items)]

    @tool(batch=Batch(max=4, wait_ms=0))
    def asks_or_leaves(items: list[str]) -> list[Any]:
        answer(items)
        answers: list[Any] = []
        for call, item in zip(current_batch(), items):
            try:
                answers.append(item if item == "block" else call.host("name", item))
            except CallCancelled as left:
                answers.append(left)
        return answers

    @tool(batch=Batch(max=4, wait_ms=0))
    def asks_for_all(items: list[str]) -> list[str]:
        return current_call().host("name")
"""


def fresh(
    shared: Callable[..., FakeHost], calls_per_worker: int = AT_ONCE
) -> Conversation:
    """Returns a conversation with a worker that has counted nothing yet."""
    conversation = shared(TOOLS, callsPerWorker=calls_per_worker).converse()
    conversation.call("found_sizes")
    return conversation


def settled(conversation: Conversation, calls: list[int]) -> dict[int, Any]:
    """Returns the result of each call, or its failure, as they came."""
    found: dict[int, Any] = {}
    while len(found) < len(calls):
        frame = conversation.receive()
        kind = frame.WhichOneof("frame")
        message = getattr(frame, kind or "")
        if message.call_id in calls:
            value = decode(message.value) if kind == "result" else message
            found[message.call_id] = value
    return found


def gathered(conversation: Conversation, tool: str, items: list[str]) -> dict[int, Any]:
    """Returns the end of calls that gather while a batch of one runs."""
    first = conversation.begin(tool, ["block"])
    assert conversation.logs.get(timeout=30).message == "blocks"
    calls = [conversation.begin(tool, [item]) for item in items]
    conversation.begin("release")
    found = settled(conversation, [first, *calls])
    assert found.pop(first) == "block"
    return {call: found[call] for call in calls}


KINDS = pytest.mark.parametrize("tool", ["together", "later"])
# Decorated by what is no batch: only a call shows what it makes.
ALL_KINDS = pytest.mark.parametrize(
    "tool", ["together", "later", "passed", "ran", "listed"]
)
