"""A system without epoll, as macOS: the bridge's thread reads and hands calls over."""

from __future__ import annotations

from conftest import Host

BOTH_TRANSPORTS = True

# A selector with a descriptor, as kqueue's is, and none that Python calls epoll's.
PROGRAM = """
import runpy
import select
import selectors

selectors.DefaultSelector = selectors.EpollSelector
del selectors.EpollSelector, select.epoll, select.EPOLLEXCLUSIVE
runpy.run_module("snakepit_bridge", run_name="__main__", alter_sys=True)
"""
TOOLS = """
import selectors

from snakepit_bridge import tool

@tool
def has_epoll() -> bool:
    return hasattr(selectors, "EpollSelector")

@tool
async def add(a: int, b: int) -> int:
    return a + b
"""


def test_calls_are_answered(host: Host) -> None:
    worker = host(TOOLS)
    worker.program = ["-u", "-c", PROGRAM]
    conversation = worker.start().converse()
    assert conversation.call("has_epoll") is False
    calls = [conversation.begin("add", [number, 1]) for number in range(8)]
    assert [conversation.receive().result.call_id for _ in calls] == calls
