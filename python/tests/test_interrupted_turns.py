"""Handlers of the tools' own signals that raise in the bridge's code."""

from __future__ import annotations

import grpc
import pytest
from conftest import Host

# As a handler does, in the main thread and once: in a step of gRPC's loop, and in
# what reads the host's frames.
TOOLS = """
import threading

from snakepit_bridge import tool
from snakepit_bridge.bridge.conversation import Conversation
from snakepit_bridge.bridge.grpc_transport.stepped_loop import SteppedLoop

PLACES = {
    "step": (SteppedLoop, "_step"),
    "bytes": (Conversation, "receive"),
    "message": (Conversation, "receive_frame"),
}

@tool
def interrupt_next(place: str) -> str:
    owner, name = PLACES[place]
    whole = getattr(owner, name)

    def interrupted(self, *arguments):
        if threading.current_thread() is not threading.main_thread():
            return whole(self, *arguments)
        setattr(owner, name, whole)
        raise KeyboardInterrupt

    setattr(owner, name, interrupted)
    return "armed"
"""


# A call that was read elsewhere is answered; the next one, or one of the next, is not.
MOST_CALLS = 10_000


@pytest.mark.parametrize(
    ("transport", "place"),
    # The framed transport has no loop to step.
    [("grpc", "step"), ("grpc", "message"), ("framed", "bytes")],
)
def test_the_worker_leaves_and_its_host_does_not_wait(
    start: Host, transport: str, place: str
) -> None:
    worker = start(TOOLS)
    conversation = worker.converse()
    with pytest.raises((grpc.RpcError, EOFError)):
        for _ in range(MOST_CALLS):
            conversation.begin("interrupt_next", [place])
            while not conversation.receive().HasField("result"):
                pass
    assert worker.exit_status() == 0
