"""Calls that are under way in one worker at the same time.

They meet at a barrier: it opens when all of them are there, and never otherwise.
"""

from __future__ import annotations

from typing import Any

from snakepit_bridge.values.decode import decode
from support.conversation import Conversation

AT_ONCE = 4

# What tools that meet begin with.
MEETING = """
    import threading
    from snakepit_bridge import tool

    barrier = threading.Barrier(4)

    def arrive() -> int:
        return barrier.wait(30)

    @tool
    def meet() -> int:
        return arrive()
"""


def answers(conversation: Conversation, calls: list[int]) -> dict[int, list[Any]]:
    """Returns what each call answered with, its chunks or its result, to its end."""
    found: dict[int, list[Any]] = {call_id: [] for call_id in calls}
    under_way = set(calls)
    while under_way:
        frame = conversation.receive()
        if frame.HasField("input_credit"):
            continue
        assert not frame.HasField("failure"), frame.failure
        kind = frame.WhichOneof("frame")
        assert kind in ("chunk", "result", "end"), frame
        message = getattr(frame, kind)
        if kind != "end":
            found[message.call_id].append(decode(message.value))
        if kind != "chunk":
            under_way.remove(message.call_id)
    return found
