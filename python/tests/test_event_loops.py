"""What a tool does with event loops leaves the worker's other calls alone."""

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
from snakepit_bridge import tool

async def slept(seconds):
    await asyncio.sleep(seconds)
    return seconds

@tool
def run(seconds: float) -> float:
    return asyncio.run(slept(seconds))

@tool
def close_own() -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(slept(0))
    loop.close()

OWN = []

@tool
def set_own() -> None:
    OWN.append(asyncio.new_event_loop())
    asyncio.set_event_loop(OWN[0])

@tool
def own_is_current() -> bool:
    return asyncio.get_event_loop() is OWN[0]

@tool
def run_current(seconds: float) -> float:
    return asyncio.get_event_loop().run_until_complete(slept(seconds))

# As nest_asyncio does it.
@tool
async def nested(seconds: float) -> float:
    loop, outer = asyncio.get_running_loop(), asyncio.current_task()
    awaited = len(loop._ready)
    asyncio.tasks._leave_task(loop, outer)
    try:
        inner = loop.create_task(slept(seconds))
        while not inner.done():
            loop._run_once()
            if loop._stopping:
                raise RuntimeError("the loop was stopped")
        return inner.result()
    finally:
        # The outer run has counted its callbacks.
        while len(loop._ready) < awaited:
            loop.call_soon(int)
        asyncio.tasks._enter_task(loop, outer)
"""

LATE = """
from snakepit_bridge import tool

@tool
def run() -> int:
    import asyncio
    async def one():
        return 1
    return asyncio.run(one())

@tool
def run_current() -> int:
    import asyncio
    return asyncio.get_event_loop().run_until_complete(asyncio.sleep(0, 2))
"""


def test_after_asyncio_run_the_next_calls_have_a_current_event_loop(
    start: Host,
) -> None:
    conversation = start(TOOLS).converse()
    for before in ("run_current", "run", "close_own", "nested"):
        given = [] if before == "close_own" else [0.001]
        assert conversation.call(before, given) == (given[0] if given else None)
        assert conversation.call("run_current", [0.002]) == 0.002


def test_so_have_calls_that_wait_behind_it(start: Host) -> None:
    conversation = start(TOOLS).converse()
    names = ["run", "run_current"] * 20
    begun = [conversation.begin(name, [0.0]) for name in names]
    ends = [conversation.terminal(each).WhichOneof("frame") for each in begun]
    assert ends == ["result"] * len(begun)


def test_so_have_calls_after_the_first_that_imports_asyncio(start: Host) -> None:
    conversation = start(LATE).converse()
    for _ in range(3):
        assert conversation.call("run") == 1
        assert conversation.call("run_current") == 2


def test_a_loop_that_a_tool_has_set_stays_current(start: Host) -> None:
    conversation = start(TOOLS).converse()
    conversation.call("set_own")
    assert conversation.call("own_is_current") is True
    assert conversation.call("own_is_current") is True


def test_a_tool_may_run_the_loop_within_the_loop_from_its_first_call_on(
    start: Host,
) -> None:
    conversation = start(TOOLS).converse()
    assert conversation.call("nested", [0.01]) == 0.01


def test_work_that_arrives_meanwhile_waits_until_a_nested_run_is_over(
    start: Host,
) -> None:
    conversation = start(TOOLS).converse()
    for _ in range(10):
        names = ["nested", "run", "nested", "run"]
        begun = [conversation.begin(name, [0.003]) for name in names]
        ends = [conversation.receive() for _ in begun]
        assert [each.WhichOneof("frame") for each in ends] == ["result"] * 4, ends


def test_threads_that_are_coroutines_are_refused_by_name(host: Host) -> None:
    for library, remedy in (("gevent", "patch_all"), ("eventlet", "monkey_patch")):
        patched = f"""
import _thread
from snakepit_bridge import tool

def start_new_thread(*_):
    raise SystemExit

# As its patch does.
start_new_thread.__module__ = "{library}.thread"
_thread.start_new_thread = start_new_thread

@tool
def one() -> int:
    return 1
"""
        failed = host(patched).failed()
        assert failed["code"] == "TOOLS_IMPORT_FAILED"
        assert f"{library} has replaced Python's threads" in failed["message"]
        assert f"{remedy}(thread=False" in failed["message"]


# -------- Callbacks of the tools' loop while no call runs and the main thread waits

IDLE = """
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
    worker = start(IDLE)
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
    conversation = start(IDLE).converse()
    conversation.call("far_away")
    for _ in range(50):
        # The second comes while the first runs, the third when both are done.
        begun = [conversation.begin("add", [1, 2]) for _ in range(2)]
        assert [conversation.receive().result.call_id for _ in begun] == begun
        assert conversation.call("add", [1, 2]) == 3
        assert conversation.call("add_later", [1, 2]) == 3
