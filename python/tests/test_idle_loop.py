"""Callbacks of the tools' loop while no call runs and the main thread waits."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from conftest import Host

BOTH_TRANSPORTS_IN_CHECK = True

TOOLS = """
    import asyncio
    import logging
    import os
    import signal
    import threading
    from snakepit_bridge import tool

    logger = logging.getLogger("idle")

    def open_now(path: str) -> int:
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    async def log(by: str) -> None:
        await asyncio.sleep(0)
        logger.info("%s", by)

    def wait_and_log(path: str, loop: asyncio.AbstractEventLoop) -> None:
        with open(path, "rb") as fifo:
            fifo.read(1)
        asyncio.run_coroutine_threadsafe(log("thread"), loop)

    @tool
    async def in_a_thread(path: str) -> None:
        loop = asyncio.get_running_loop()
        threading.Thread(target=wait_and_log, args=(path, loop), daemon=True).start()

    @tool
    async def by_a_descriptor(path: str) -> None:
        loop = asyncio.get_running_loop()
        descriptor = open_now(path)

        def readable() -> None:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            loop.create_task(log("descriptor"))

        loop.add_reader(descriptor, readable)

    @tool
    def by_a_descriptor_of_a_function(path: str) -> None:
        loop = asyncio.get_event_loop()
        descriptor = open_now(path)

        def readable() -> None:
            loop.remove_reader(descriptor)
            logger.info("descriptor of a function")

        loop.add_reader(descriptor, readable)

    @tool
    def by_a_timer_of_a_function(path: str) -> None:
        asyncio.get_event_loop().call_later(0.1, logger.info, "timer of a function")

    @tool
    async def by_a_timer(path: str) -> None:
        loop = asyncio.get_running_loop()
        descriptor = open_now(path)

        def look() -> None:
            try:
                os.read(descriptor, 1)
            except BlockingIOError:
                loop.call_later(0.01, look)
            else:
                loop.create_task(log("timer"))

        loop.call_later(0.01, look)

    @tool
    async def by_the_loops_signal(path: str) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(
            signal.SIGUSR1, lambda: loop.create_task(log("loop's signal"))
        )

    @tool
    def by_the_loops_signal_of_a_function(path: str) -> None:
        asyncio.get_event_loop().add_signal_handler(
            signal.SIGUSR1, logger.info, "loop's signal of a function"
        )

    @tool
    def by_a_signal(path: str) -> None:
        signal.signal(signal.SIGUSR1, lambda *_: logger.info("signal"))

    def reads(frame) -> bool:
        while frame is not None:
            if frame.f_code.co_filename.endswith(("stepped_loop.py", "server.py")):
                return True
            frame = frame.f_back
        return False

    @tool
    def by_a_signal_that_raises(path: str) -> None:
        def handler(number, frame) -> None:
            if reads(frame):
                # If it raised there, the worker would leave.
                again = (os.getpid(), number)
                threading.Timer(0.001, os.kill, again).start()
                return
            logger.info("signal that raises")
            raise KeyboardInterrupt

        signal.signal(signal.SIGUSR1, handler)

    @tool
    def by_a_thread_that_is_sent_one(path: str) -> None:
        signal.signal(signal.SIGUSR1, lambda *_: logger.info("another thread's signal"))

        def wait_and_send() -> None:
            with open(path, "rb") as fifo:
                fifo.read(1)
            # Python runs the handler in the main thread, which this signal does not interrupt.
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

        threading.Thread(target=wait_and_send, daemon=True).start()

    @tool
    async def with_a_task_left_behind(path: str) -> None:
        global task, event
        event = asyncio.Event()

        async def waits() -> None:
            await event.wait()
            logger.info("task")

        task = asyncio.create_task(waits())
        loop = asyncio.get_running_loop()

        def wait_and_set() -> None:
            with open(path, "rb") as fifo:
                fifo.read(1)
            loop.call_soon_threadsafe(event.set)

        threading.Thread(target=wait_and_set, daemon=True).start()

    @tool
    async def far_away() -> None:
        asyncio.get_running_loop().call_later(3600, logger.info, "late")

    @tool
    def add(a: int, b: int) -> int:
        return a + b

    @tool
    async def add_later(a: int, b: int) -> int:
        await asyncio.sleep(0)
        return a + b
"""

WAYS = [
    ("in_a_thread", "thread"),
    ("by_a_descriptor", "descriptor"),
    ("by_a_descriptor_of_a_function", "descriptor of a function"),
    ("by_a_timer", "timer"),
    ("by_a_timer_of_a_function", "timer of a function"),
    ("by_the_loops_signal", "loop's signal"),
    ("by_the_loops_signal_of_a_function", "loop's signal of a function"),
    ("by_a_signal", "signal"),
    ("by_a_signal_that_raises", "signal that raises"),
    ("by_a_thread_that_is_sent_one", "another thread's signal"),
    ("with_a_task_left_behind", "task"),
]


def message_of(conversation: Any, logger: str) -> str:
    while True:
        log = conversation.logs.get(timeout=30)
        if log.logger == logger:
            return str(log.message)


@pytest.mark.parametrize(("tool", "message"), WAYS)
def test_the_loop_runs_callbacks_while_no_call_runs(
    start: Host, tmp_path: Path, tool: str, message: str
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    worker = start(TOOLS)
    conversation = worker.converse()
    # Opened for both, so that opening waits for no other end.
    trigger = os.open(fifo, os.O_RDWR)
    try:
        conversation.call(tool, [str(fifo)])
        if "signal" in tool:
            worker.signal(signal.SIGUSR1)
        else:
            os.write(trigger, b"xx")
        assert message_of(conversation, "idle") == message
    finally:
        os.close(trigger)
    # And calls are answered afterwards as before.
    for each in ("add", "add_later", "add"):
        assert conversation.call(each, [1, 2]) == 3


def test_calls_are_answered_while_the_loop_waits_for_something_far_away(
    start: Host,
) -> None:
    conversation = start(TOOLS).converse()
    conversation.call("far_away")
    for _ in range(50):
        # The second comes while the first runs, the third when both are done.
        begun = [conversation.begin("add", [1, 2]) for _ in range(2)]
        assert [conversation.receive().result.call_id for _ in begun] == begun
        assert conversation.call("add", [1, 2]) == 3
        assert conversation.call("add_later", [1, 2]) == 3
