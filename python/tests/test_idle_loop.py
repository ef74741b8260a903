"""What reaches the loop of the tools while no call runs, and the main thread waits."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from conftest import Host

from snakepit_bridge.bridge.framed_transport.outbox import FramedOutbox
from snakepit_bridge.bridge.shared_reading.reading_main_thread import (
    ReadingMainThread,
)
from snakepit_bridge.calls.main_thread import MainThread
from snakepit_bridge.calls.waiting_main_thread import WaitingMainThread

BOTH_TRANSPORTS = True

TOOLS = """
    import asyncio
    import logging
    import os
    import signal
    import threading
    from snakepit_bridge import tool

    tells = logging.getLogger("idle")

    def open_now(path: str) -> int:
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    async def told(by: str) -> None:
        await asyncio.sleep(0)
        tells.info("%s", by)

    def wait_and_tell(path: str, loop: asyncio.AbstractEventLoop) -> None:
        with open(path, "rb") as fifo:
            fifo.read(1)
        asyncio.run_coroutine_threadsafe(told("thread"), loop)

    @tool
    async def in_a_thread(path: str) -> None:
        loop = asyncio.get_running_loop()
        threading.Thread(target=wait_and_tell, args=(path, loop), daemon=True).start()

    @tool
    async def by_a_descriptor(path: str) -> None:
        loop = asyncio.get_running_loop()
        descriptor = open_now(path)

        def readable() -> None:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            loop.create_task(told("descriptor"))

        loop.add_reader(descriptor, readable)

    @tool
    def by_a_descriptor_of_a_function(path: str) -> None:
        loop = asyncio.get_event_loop()
        descriptor = open_now(path)

        def readable() -> None:
            loop.remove_reader(descriptor)
            tells.info("descriptor of a function")

        loop.add_reader(descriptor, readable)

    @tool
    def by_a_timer_of_a_function(path: str) -> None:
        asyncio.get_event_loop().call_later(0.1, tells.info, "timer of a function")

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
                loop.create_task(told("timer"))

        loop.call_later(0.01, look)

    @tool
    async def by_the_loops_signal(path: str) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(
            signal.SIGUSR1, lambda: loop.create_task(told("loop's signal"))
        )

    @tool
    def by_the_loops_signal_of_a_function(path: str) -> None:
        asyncio.get_event_loop().add_signal_handler(
            signal.SIGUSR1, tells.info, "loop's signal of a function"
        )

    @tool
    def by_a_signal(path: str) -> None:
        signal.signal(signal.SIGUSR1, lambda *_: tells.info("signal"))

    def reads(frame) -> bool:
        while frame is not None:
            if frame.f_code.co_filename.endswith(("stepped_loop.py", "line.py")):
                return True
            frame = frame.f_back
        return False

    @tool
    def by_a_signal_that_raises(path: str) -> None:
        def handler(number, frame) -> None:
            if reads(frame):
                # Raised there, the worker would leave.
                again = (os.getpid(), number)
                threading.Timer(0.001, os.kill, again).start()
                return
            tells.info("signal that raises")
            raise KeyboardInterrupt

        signal.signal(signal.SIGUSR1, handler)

    @tool
    def by_a_thread_that_is_sent_one(path: str) -> None:
        signal.signal(signal.SIGUSR1, lambda *_: tells.info("another thread's signal"))

        def wait_and_send() -> None:
            with open(path, "rb") as fifo:
                fifo.read(1)
            # The handler in Python is for the main thread, which this interrupts nowhere.
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

        threading.Thread(target=wait_and_send, daemon=True).start()

    @tool
    async def with_a_task_left_behind(path: str) -> None:
        global task, event
        event = asyncio.Event()

        async def waits() -> None:
            await event.wait()
            tells.info("task")

        task = asyncio.create_task(waits())
        loop = asyncio.get_running_loop()

        def wait_and_set() -> None:
            with open(path, "rb") as fifo:
                fifo.read(1)
            loop.call_soon_threadsafe(event.set)

        threading.Thread(target=wait_and_set, daemon=True).start()

    @tool
    async def far_away() -> None:
        asyncio.get_running_loop().call_later(3600, tells.info, "late")

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


@pytest.mark.parametrize(("tool", "told"), WAYS)
def test_the_loop_hears_of_it_while_no_call_runs(
    start: Host, tmp_path: Path, tool: str, told: str
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    worker = start(TOOLS)
    conversation = worker.converse()
    # Open both ways: nobody waits for the other end.
    trigger = os.open(fifo, os.O_RDWR)
    try:
        conversation.call(tool, [str(fifo)])
        if "signal" in tool:
            worker.signal(signal.SIGUSR1)
        else:
            os.write(trigger, b"xx")
        assert message_of(conversation, "idle") == told
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


class _NoOutbox:
    """Frames go nowhere."""

    held = False

    def flush(self) -> None: ...


MAIN_THREADS: list[Callable[[], MainThread]] = [
    WaitingMainThread,
    lambda: ReadingMainThread(cast(FramedOutbox, _NoOutbox())),
]


@pytest.mark.parametrize("make", MAIN_THREADS, ids=["waiting", "reading"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_a_signals_handler_that_raises_between_two_works_ends_nothing(
    make: Callable[[], MainThread], error: type[BaseException]
) -> None:
    main = make()
    done: list[str] = []

    def interrupted() -> None:
        raise error

    main.submit(interrupted)
    main.submit(lambda: done.append("work"))
    main.submit_to_loop(lambda: done.append("callback"))
    main.submit(main.stop)
    main.run()
    main.close()
    assert sorted(done) == ["callback", "work"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_callbacks_are_called_where_a_signals_handler_raised_as_they_were_begun(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    main = WaitingMainThread()
    done: list[str] = []

    def interrupted() -> None:
        monkeypatch.undo()
        raise error

    def later() -> None:
        main.submit_to_loop(lambda: done.append("second"))
        main.submit(main.stop)

    monkeypatch.setattr(main, "_call_in_loop", interrupted)
    main.submit_to_loop(lambda: done.append("first"))
    main.submit(later)
    too_late = threading.Timer(30, main.stop)
    too_late.start()
    try:
        main.run()
    finally:
        too_late.cancel()
    main.close()
    assert done == ["first", "second"]
