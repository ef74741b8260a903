"""The table of calls, where several threads have them at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.bridge.call_table import CallTable
from snakepit_bridge.calls.host_functions import HostCallFailed, Reply


class Outbox:
    """Does what another thread would do while a frame is put."""

    def __init__(self) -> None:
        self.meanwhile: Callable[[], None] = lambda: None

    def put(self, _frame: pb.WorkerFrame) -> None:
        self.meanwhile()

    def put_last(self, _frame: pb.WorkerFrame) -> None:
        self.meanwhile()

    @property
    def logs_waiting(self) -> int:
        return 0

    def put_log(self, _log: pb.Log) -> bool:
        return True


def table_with_a_call(outbox: Outbox) -> CallTable:
    table = CallTable(outbox, 1 << 20)
    running: Any = SimpleNamespace(call=SimpleNamespace(call_id=1))
    table.add(running)
    return table


def test_a_worker_that_leaves_waits_until_the_last_answer_can_be_sent() -> None:
    outbox = Outbox()
    table = table_with_a_call(outbox)
    left: list[int] = []
    outbox.meanwhile = lambda: left.append(len(table))
    table.settle(1, pb.WorkerFrame())
    assert left == [1]
    assert len(table) == 0


def test_a_call_whose_answer_cannot_be_put_is_over_all_the_same() -> None:
    outbox = Outbox()
    table = table_with_a_call(outbox)

    def interrupted() -> None:
        raise KeyboardInterrupt

    outbox.meanwhile = interrupted
    with pytest.raises(KeyboardInterrupt):
        table.settle(1, pb.WorkerFrame())
    assert len(table) == 0


def test_a_host_call_of_a_call_that_ends_meanwhile_waits_for_nobody() -> None:
    outbox = Outbox()
    table = table_with_a_call(outbox)
    reply = Reply("price")

    async def ask() -> None:
        table.attach(asyncio.get_running_loop())

        def end() -> None:
            outbox.meanwhile = lambda: None
            # As where its end saw no host call yet.
            table._calls.clear()

        outbox.meanwhile = end
        table.send_host_call(1, reply, b"", {})
        # What was handed over to the loop by then.
        await asyncio.sleep(0)

    asyncio.run(ask())
    with pytest.raises(HostCallFailed, match="its call is over"):
        assert reply.given()
        reply.value()
