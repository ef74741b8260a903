"""The table of calls, where several threads have them at once."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from snakepit_bridge import CallCancelled
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
from snakepit_bridge.calls.cancel.cancellation import Cancellation
from snakepit_bridge.calls.context.call import Call
from snakepit_bridge.calls.context.host_calls import CALL_OVER, HostCallFailed, Reply
from snakepit_bridge.calls.memory.call_page import CallPage
from snakepit_bridge.calls.run.running_call import CallState, TerminalFrame
from snakepit_bridge.frames import End, Log, WorkerFrame


class Outbox:
    """Does what another thread would do while a frame is put."""

    def __init__(self) -> None:
        self.meanwhile: Callable[[], None] = lambda: None
        self.held = False

    def put(self, _frame: WorkerFrame | bytes) -> None:
        self.meanwhile()

    put_last = add = put
    most_held = 1

    def send_added(self) -> None:
        self.meanwhile()

    @property
    def logs_waiting(self) -> int:
        return 0

    def put_log(self, _log: Log) -> bool:
        return True


def table_with_a_call(outbox: Outbox, page: CallPage | None = None) -> CallTable:
    table = CallTable(outbox, 1 << 20, page=page)
    running: Any = SimpleNamespace(call=SimpleNamespace(call_id=1))
    table.running[1] = running
    return table


def test_a_worker_that_leaves_waits_until_the_last_answer_can_be_sent() -> None:
    outbox = Outbox()
    table = table_with_a_call(outbox)
    left: list[int] = []
    outbox.meanwhile = lambda: left.append(len(table.running))
    table.settle(1, End(1))
    assert left == [1]
    assert len(table.running) == 0


class Interruptible:
    """A call, as its cancellation needs it."""

    def __init__(self) -> None:
        self.state = CallState.RUNNING
        self.cancellation = Cancellation()
        self.interrupted = 0

    def cancel(self, reason: CancelReason) -> None:
        self.cancellation.request(reason)

    def interrupt(self) -> None:
        self.interrupted += 1


def test_a_timer_that_repeats_a_cancellation_keeps_no_call() -> None:
    table = CallTable(Outbox(), 1 << 20)
    timers: list[tuple[Any, ...]] = []
    loop: Any = SimpleNamespace(call_later=lambda _s, *timer: timers.append(timer))
    table.attach(loop)
    running: Any = Interruptible()
    table.running[1] = running
    table.cancel(1, CancelReason.CALLER)
    repeat, *arguments = timers.pop()
    repeat(*arguments)
    assert running.interrupted == 2
    repeat, *arguments = timers.pop()
    table.settle(1, End(1))
    call = weakref.ref(running)
    del running
    assert call() is None
    repeat(*arguments)
    assert timers == []


def test_an_answer_is_held_only_where_the_host_finds_it(tmp_path: Path) -> None:
    outbox = Outbox()
    table = table_with_a_call(outbox)

    def is_held(answer: TerminalFrame) -> bool:
        outbox.held = True
        table.settle(1, answer)
        return outbox.held

    assert is_held(b"answer")
    table = table_with_a_call(outbox, CallPage(str(tmp_path / "calls")))
    assert is_held(b"answer")
    # Only packed answers are kept, and only as long as there is room.
    assert not is_held(End(1))
    assert not is_held(bytes(4096))


def test_a_call_is_over_even_if_its_answer_cannot_be_put() -> None:
    outbox = Outbox()
    table = table_with_a_call(outbox)

    def interrupted() -> None:
        raise KeyboardInterrupt

    outbox.meanwhile = interrupted
    with pytest.raises(KeyboardInterrupt):
        table.settle(1, End(1))
    assert len(table.running) == 0


def test_a_host_call_fails_if_its_call_ends_while_it_is_sent() -> None:
    outbox = Outbox()
    table = table_with_a_call(outbox)
    reply = Reply("price")

    async def ask() -> None:
        table.attach(asyncio.get_running_loop())

        def end() -> None:
            outbox.meanwhile = lambda: None
            # As if its end had seen no host call yet.
            table.running.clear()

        outbox.meanwhile = end
        table.send_host_call(1, reply, b"")
        # Runs the callbacks that were scheduled until now.
        await asyncio.sleep(0)

    asyncio.run(ask())
    with pytest.raises(HostCallFailed, match="its call is over"):
        assert reply.is_answered()
        reply.value()


# -------- A call that was cancelled while its tool asks the host, and is over at the same time


class Host:
    """Ends the call before it answers: what the bridge does when a caller has left."""

    def __init__(self, cancellation: Cancellation, reason: CancelReason | None) -> None:
        self._cancellation = cancellation
        self._reason = reason

    def send_host_call(self, _call_id: int, reply: Reply, _argument: bytes) -> int:
        if self._reason is not None:
            self._cancellation.request(self._reason)
        reply.failure(CALL_OVER, "its call is over")
        return 1

    def drop_host_call(self, host_call_id: int) -> None:
        raise AssertionError(f"{host_call_id} was answered")


def ask(is_async: bool, reason: CancelReason | None) -> None:
    cancellation = Cancellation()
    call = Call(1, "asks", Host(cancellation, reason), cancellation, is_async)
    if is_async:
        asyncio.run(call.host_async("name"))
    else:
        call.host("name")


KINDS = pytest.mark.parametrize("is_async", [False, True])


@KINDS
def test_one_that_was_cancelled_raises_that_whatever_is_noticed_first(
    is_async: bool,
) -> None:
    with pytest.raises(CallCancelled) as raised:
        ask(is_async, CancelReason.DEADLINE)
    assert raised.value.reason is CancelReason.DEADLINE


@KINDS
def test_one_that_ended_otherwise_has_no_answer(is_async: bool) -> None:
    with pytest.raises(HostCallFailed) as raised:
        ask(is_async, None)
    assert raised.value.code == CALL_OVER
