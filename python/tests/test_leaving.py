"""A worker that is asked to leave: it finishes or cancels, tidies up, and goes."""

from __future__ import annotations

import signal
from typing import Any

import pytest
from conftest import Host
from support.fake_host import DEADLINE_S, FakeHost

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb

BOTH_TRANSPORTS_IN_CHECK = True

TOOLS = """
    import asyncio
    import ctypes
    import logging
    import sys
    import time
    from concurrent.futures import ThreadPoolExecutor
    from threading import Thread
    from snakepit_bridge import current_call, on_shutdown, on_startup, tool

    @on_startup
    async def start() -> None:
        global loop
        loop = asyncio.get_running_loop()
        print("started")

    @on_shutdown
    def stop() -> None:
        print("stopped")

    @on_shutdown
    async def stop_later() -> None:
        await asyncio.sleep(0)
        print("stopped later")

    @on_shutdown
    def stop_badly() -> None:
        raise ValueError("a bad hook")

    @tool
    def finishes() -> str:
        sys.stderr.write("begun\\n")
        time.sleep(0.3)
        return "finished"

    @tool
    def sleeps() -> None:
        try:
            sys.stderr.write("begun\\n")
            time.sleep(600)
        finally:
            print(current_call().cancel_reason)

    @tool
    async def sleeps_later() -> None:
        sys.stderr.write("begun\\n")
        await asyncio.sleep(600)

    @tool
    def cannot_be_interrupted() -> None:
        sys.stderr.write("begun\\n")
        while True:
            try:
                time.sleep(600)
            except BaseException:
                pass

    @tool
    def is_stuck_in_c() -> None:
        # Locked twice it never comes back, and no signal interrupts it.
        mutex = ctypes.create_string_buffer(128)
        library = ctypes.CDLL(None)
        library.pthread_mutex_lock(mutex)
        sys.stderr.write("begun\\n")
        library.pthread_mutex_lock(mutex)

    @tool
    async def leaves_a_task_behind() -> None:
        async def forever() -> None:
            try:
                await asyncio.sleep(600)
            finally:
                print("task ended")
        global task
        task = asyncio.get_running_loop().create_task(forever())
        await asyncio.sleep(0)

    @tool
    def leaves_threads_behind() -> None:
        Thread(target=time.sleep, args=(600,), name="poller").start()
        Thread(target=time.sleep, args=(600,), daemon=True).start()

    @tool
    def leaves_an_executor_behind() -> None:
        global executor
        executor = ThreadPoolExecutor()
        executor.submit(int).result()

    @tool
    def leaves_a_stop_behind() -> None:
        loop.call_soon_threadsafe(loop.stop)

    @tool
    def noop() -> None:
        return None
"""


def half_close(worker: FakeHost, conversation: Any) -> None:
    conversation.half_close()


def terminate(worker: FakeHost, conversation: Any) -> None:
    worker.signal(signal.SIGTERM)


WAYS = pytest.mark.parametrize("leave", [half_close, terminate])


@WAYS
def test_an_idle_worker_leaves_with_its_hooks_run_and_exits_0(
    start: Host, leave: Any
) -> None:
    worker = start(TOOLS)
    conversation = worker.converse()
    conversation.call("noop")
    leave(worker, conversation)
    with pytest.raises(EOFError):
        raise AssertionError(conversation.receive())
    assert worker.exit_status() == 0
    assert worker.stdout() == "started\nstopped later\nstopped\n"


def test_a_loop_that_a_tool_stops_runs_on(start: Host) -> None:
    worker = start(TOOLS)
    conversation = worker.converse()
    for _ in range(10):
        conversation.call("leaves_a_stop_behind")
    worker.signal(signal.SIGTERM)
    assert worker.exit_status() == 0
    assert "stopped later\n" in worker.stdout()


@WAYS
def test_running_calls_may_finish(start: Host, leave: Any) -> None:
    worker = start(TOOLS)
    conversation = worker.converse()
    call_id = conversation.begin("finishes")
    worker.wait_for_stderr("begun")
    leave(worker, conversation)
    assert conversation.terminal(call_id).result.value == b"\xa8finished"
    assert worker.exit_status() == 0


@WAYS
@pytest.mark.parametrize("tool", ["sleeps", "sleeps_later"])
def test_calls_that_do_not_finish_are_cancelled(
    start: Host, leave: Any, tool: str
) -> None:
    worker = start(TOOLS)
    conversation = worker.converse()
    call_id = conversation.begin(tool)
    worker.wait_for_stderr("begun")
    leave(worker, conversation)
    failure = conversation.terminal(call_id).failure
    assert failure.kind == pb.FAILURE_KIND_CANCELLED
    assert failure.message == "the call was cancelled: the worker is leaving"
    assert worker.exit_status() == 0
    assert worker.stdout().endswith("stopped\n")


def test_a_call_that_cannot_be_cancelled_does_not_keep_the_worker(start: Host) -> None:
    worker = start(TOOLS)
    conversation = worker.converse()
    conversation.begin("cannot_be_interrupted")
    worker.wait_for_stderr("begun")
    worker.signal(signal.SIGTERM)
    assert worker.exit_status() == 72
    record = conversation.logs.get(timeout=DEADLINE_S)
    assert record.message == "leaving with 1 calls that do not end"


def test_sigterm_is_noticed_while_the_main_thread_runs_no_python(start: Host) -> None:
    worker = start(TOOLS)
    worker.converse().begin("is_stuck_in_c")
    worker.wait_for_stderr("begun")
    worker.signal(signal.SIGTERM)
    assert worker.exit_status() == 72


def test_calls_that_come_too_late_are_refused_as_not_begun(start: Host) -> None:
    worker = start(TOOLS)
    conversation = worker.converse()
    conversation.begin("cannot_be_interrupted")
    worker.wait_for_stderr("begun")
    worker.signal(signal.SIGTERM)
    health = "/grpc.health.v1.Health/Check"
    while conversation.unary(health, b"", bytes) == b"\x08\x01":
        pass
    late = conversation.failure("noop")
    assert late.kind == pb.FAILURE_KIND_LEAVING
    assert not late.began


@WAYS
def test_a_thread_of_a_tool_that_keeps_the_worker_is_named(
    start: Host, leave: Any
) -> None:
    worker = start(TOOLS)
    conversation = worker.converse()
    conversation.call("leaves_threads_behind")
    leave(worker, conversation)
    worker.wait_for_stderr(
        "its tools started a thread: poller. Start it with daemon=True"
    )
    assert worker.stdout().endswith("stopped\n")


def test_a_thread_that_ends_when_python_ends_is_not_named(start: Host) -> None:
    worker = start(TOOLS)
    conversation = worker.converse()
    conversation.call("leaves_an_executor_behind")
    worker.signal(signal.SIGTERM)
    assert worker.exit_status() == 0
    assert "executor" not in worker.stderr().lower()
    assert "have started" not in worker.stderr()


def test_tasks_that_tools_left_behind_are_cancelled_at_the_end(start: Host) -> None:
    worker = start(TOOLS)
    conversation = worker.converse()
    conversation.call("leaves_a_task_behind")
    conversation.half_close()
    assert worker.exit_status() == 0
    assert "task ended" in worker.stdout()


def test_a_broken_stream_cancels_the_calls_and_the_worker_leaves(start: Host) -> None:
    worker = start(TOOLS)
    conversation = worker.converse()
    conversation.begin("sleeps")
    worker.wait_for_stderr("begun")
    conversation.close()
    assert worker.exit_status() == 0
    assert "CancelReason.SHUTDOWN" in worker.stdout()


def test_a_worker_ignores_sigint(start: Host) -> None:
    worker = start(TOOLS)
    conversation = worker.converse()
    worker.signal(signal.SIGINT)
    assert conversation.call("noop") is None


def test_sigterm_before_ready_ends_the_worker_at_once(host: Host) -> None:
    worker = host(
        """
        import sys, time
        sys.stderr.write("importing\\n")
        time.sleep(600)
        """
    )
    worker.spawn()
    worker.launch()
    worker.wait_for_stderr("importing")
    worker.signal(signal.SIGTERM)
    assert worker.exit_status() == 0
