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


def test_a_copy_ends_where_the_tool_returns(start: Host) -> None:
    worker = start(COPIES)
    conversation = worker.converse()
    assert conversation.call("returns") == "child ended with 1"
    worker.wait_for_stderr("forked by a tool")
    assert conversation.call("pid") == worker.pid


def test_sys_exit_ends_a_copy_as_in_any_program(start: Host) -> None:
    worker = start(COPIES)
    conversation = worker.converse()
    assert conversation.call("exits") == 7
    worker.wait_for_stdout("printed by the child")
    assert conversation.call("pid") == worker.pid


def test_an_error_in_a_copy_is_written_to_stderr(start: Host) -> None:
    worker = start(COPIES)
    conversation = worker.converse()
    assert conversation.call("raises") == 1
    worker.wait_for_stderr("ValueError: of the child")
    assert conversation.call("pid") == worker.pid


def test_a_copy_ends_in_an_asynchronous_tool(start: Host) -> None:
    worker = start(COPIES)
    conversation = worker.converse()
    assert conversation.call("asynchronous") == 1
    assert conversation.call("pid") == worker.pid


@pytest.mark.parametrize("name", ["yields", "yields_later"])
def test_a_copy_ends_between_two_chunks(start: Host, name: str) -> None:
    worker = start(COPIES)
    conversation = worker.converse()
    conversation.begin(name, stream_credit=8)
    assert conversation.chunk() == 1
    assert conversation.call("pid") == worker.pid


def test_a_copy_cannot_call_the_host(start: Host) -> None:
    worker = start(COPIES)
    conversation = worker.converse()
    assert conversation.call("asks_the_host") == 7
    assert conversation.call("pid") == worker.pid


def test_a_copy_ends_where_tools_run_in_threads(start: Host) -> None:
    worker = start(COPIES, callsPerWorker=2)
    conversation = worker.converse()
    assert conversation.call("returns") == "child ended with 1"
    assert conversation.call("exits") == 7
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
