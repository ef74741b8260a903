"""A child that a tool forks is a copy of the worker: it never comes back into it."""

from __future__ import annotations

import pytest
from conftest import Host

BOTH_TRANSPORTS_IN_CHECK = True

COPIES = """
    import os
    import sys
    from snakepit_bridge import HostCallFailed, current_call, on_startup, tool

    def ended(child: int) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    @tool
    def returns() -> str:
        child = os.fork()
        return "child" if child == 0 else f"child ended with {ended(child)}"

    @tool
    def exits() -> int:
        child = os.fork()
        if child == 0:
            print("printed by the child", end="")
            sys.exit(7)
        return ended(child)

    @tool
    def raises() -> int:
        child = os.fork()
        if child == 0:
            raise ValueError("of the child")
        return ended(child)

    @tool
    async def asynchronous() -> int:
        child = os.fork()
        return 0 if child == 0 else ended(child)

    @tool
    def yields():
        child = os.fork()
        yield 0 if child == 0 else ended(child)

    @tool
    async def yields_later():
        child = os.fork()
        yield 0 if child == 0 else ended(child)

    @tool
    def asks_the_host() -> int:
        child = os.fork()
        if child == 0:
            try:
                current_call().host("anything")
            except HostCallFailed as error:
                os._exit(7 if error.code == "FORKED_COPY" else 8)
        return ended(child)

    @tool
    def pid() -> int:
        return os.getpid()
"""


@pytest.mark.parametrize("calls_per_worker", [1, 2])
@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("returns", "child ended with 1", "forked by a tool"),
        ("exits", 7, "printed by the child"),
        ("raises", 1, "ValueError: of the child"),
        ("asynchronous", 1, ""),
        ("asks_the_host", 7, ""),
    ],
)
def test_a_copy_ends_with_its_tool_and_says_why(
    start: Host, name: str, answer: object, said: str, calls_per_worker: int
) -> None:
    worker = start(COPIES, callsPerWorker=calls_per_worker)
    conversation = worker.converse()
    assert conversation.call(name) == answer
    wait = worker.wait_for_stdout if name == "exits" else worker.wait_for_stderr
    wait(said)
    assert conversation.call("pid") == worker.pid


@pytest.mark.parametrize("name", ["yields", "yields_later"])
def test_a_copy_ends_between_two_chunks(start: Host, name: str) -> None:
    worker = start(COPIES)
    conversation = worker.converse()
    conversation.begin(name, stream_credit=8)
    assert conversation.chunk() == 1
    assert conversation.call("pid") == worker.pid


HOOK = """
    @on_startup
    def forks() -> None:
        child = os.fork()
        if child != 0 and ended(child) != 1:
            raise RuntimeError("the copy went on")
"""


def test_a_copy_made_by_a_start_up_hook_does_not_become_a_worker(start: Host) -> None:
    worker = start(COPIES + HOOK)
    assert worker.converse().call("pid") == worker.pid
