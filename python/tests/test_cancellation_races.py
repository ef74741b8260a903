"""Cancels that come just when a call ends."""

from __future__ import annotations

import contextvars
import gc
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Host

from snakepit_bridge.boot.process_setup import CANCEL_SIGNAL
from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
from snakepit_bridge.calls.cancel.cancel_signal import (
    listen_for_cancel_signal,
    send_cancel_signal,
)
from snakepit_bridge.calls.context.input_stream import InputStream
from snakepit_bridge.calls.memory.call_page import BegunMarks, CallPage
from snakepit_bridge.calls.memory.shared_memory import SharedMemory
from snakepit_bridge.calls.run.run_tool import run_function
from snakepit_bridge.calls.run.running_call import RunningCall, TerminalFrame
from snakepit_bridge.calls.run.tool_threads import run_in_thread
from snakepit_bridge.failures import failure
from snakepit_bridge.frames import Failure, Result, WorkerFrame
from snakepit_bridge.telemetry.tracing import Tracing
from snakepit_bridge.tools.declaration import NO_INPUT, ToolMark
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.values.encode import encode

BOTH_TRANSPORTS_IN_CHECK = True

RACES = int(os.environ.get("SNAKEPIT_RACES", "300"))


class Settled:
    """Takes the frames of a call."""

    max_message_bytes = 1 << 20
    shared_memory: SharedMemory | None = None
    tracing: Tracing | None = None
    page: CallPage | BegunMarks | None = None

    def withdraw(self, _running: RunningCall) -> bool:
        return True

    def __init__(self) -> None:
        self.kinds: list[type] = []

    def send(self, frame: WorkerFrame) -> None:
        self.kinds.append(type(frame))

    def settle(self, call_id: int, frame: TerminalFrame) -> None:
        assert not isinstance(frame, bytes)
        self.send(frame)


def spin(seconds: float) -> str:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
    return "done"


def make(seconds: float, sink: Settled) -> RunningCall:
    tool = Tool("spin", spin, ToolMark(None, NO_INPUT))
    no_host: Any = sink
    running = RunningCall.of(1, tool, encode([seconds]), no_host)
    call = running.expand(None, None)
    call._input = InputStream(running.cancellation)
    return running


def test_a_call_that_is_cancelled_while_it_waits_does_not_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its frame releases the memory of its arguments, which must not be read then."""
    sink = Settled()
    running = make(0, sink)
    began: list[bool] = []

    def cancelled(*args: Any, **keywords: Any) -> TerminalFrame:
        # A thread that takes it up just now.
        began.append(running.begin())
        return failure.cancelled(*args, **keywords)

    monkeypatch.setattr("snakepit_bridge.calls.run.running_call.cancelled", cancelled)
    running.cancel(CancelReason.CALLER)
    assert (began, sink.kinds) == ([False], [Failure])


@pytest.fixture
def cancel_signal() -> Iterator[None]:
    before = signal.getsignal(CANCEL_SIGNAL)
    listen_for_cancel_signal()
    yield
    signal.signal(CANCEL_SIGNAL, before)


@pytest.fixture(autouse=True)
def threads_that_take_turns_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("cancel_signal")
def test_a_signal_at_the_end_of_a_call_never_escapes_it() -> None:
    chance = random.Random(1)
    kinds = set()
    for _ in range(RACES):
        running = make(0.0003, Settled())
        over = threading.Event()
        delay = chance.uniform(0, 0.0008)

        def cancel(
            running: RunningCall = running,
            over: threading.Event = over,
            delay: float = delay,
        ) -> None:
            spin(delay)
            running.cancellation.by_signal = True
            running.cancellation.request(CancelReason.CALLER)
            while not over.is_set():
                send_cancel_signal()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        # An escape would end the test here, in whatever line it hits.
        running.begin()
        frame = contextvars.copy_context().run(run_function, running, 0)
        over.set()
        canceller.join()
        kinds.add(type(frame))
    assert kinds == {Result, Failure}


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Keeps Hypothesis's callback of the collector out of the thread: Python prints what
    is raised in it, and pytest fails.
    """
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
def test_an_interrupt_at_the_end_of_a_call_never_escapes_its_thread() -> None:
    chance = random.Random(2)
    for _ in range(RACES):
        sink = Settled()
        running = make(0.0003, sink)
        escaped: list[BaseException] = []
        thread = threading.Thread(target=catching, args=(running, escaped))
        thread.start()
        spin(chance.uniform(0, 0.0008))
        running.cancel(CancelReason.CALLER)
        while thread.is_alive():
            running.interrupt()
        thread.join()
        assert escaped == []
        assert len(sink.kinds) == 1


def unexpected(*_: object) -> None:
    raise AssertionError


def catching(running: RunningCall, escaped: list[BaseException]) -> None:
    try:
        run_in_thread(running, contextvars.copy_context(), unexpected)
    except BaseException as error:  # noqa: BLE001 - that is what the test looks for
        escaped.append(error)


QUICK = """
    import time
    from collections.abc import Iterator
    from snakepit_bridge import tool

    @tool
    def spin(seconds: float) -> str:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass
        return "done"

    @tool
    async def spin_later(seconds: float) -> str:
        return spin(seconds)

    @tool
    def spin_twice(seconds: float) -> Iterator[str]:
        yield spin(seconds)
        yield spin(seconds)
"""


@pytest.mark.parametrize("calls_per_worker", [1, 2])
@pytest.mark.parametrize("tool", ["spin", "spin_later", "spin_twice"])
def test_every_call_has_one_terminal_frame_whenever_its_cancel_comes(
    start: Host, tool: str, calls_per_worker: int
) -> None:
    chance = random.Random(3)
    worker = start(QUICK, callsPerWorker=calls_per_worker)
    conversation = worker.converse()
    options = {"stream_credit": 9} if tool == "spin_twice" else {}
    for _ in range(RACES // 3):
        call_id = conversation.begin(tool, [0.001], **options)
        time.sleep(chance.uniform(0, 0.004))
        conversation.cancel(call_id)
        kind = conversation.terminal(call_id).WhichOneof("frame")
        assert kind in ("result", "end", "failure")
    assert conversation.call("spin", [0.0]) == "done"
    conversation.half_close()
    with pytest.raises(EOFError):
        raise AssertionError(f"one frame too many: {conversation.receive()}")
    assert worker.exit_status() == 0
    assert worker.stderr() == ""
