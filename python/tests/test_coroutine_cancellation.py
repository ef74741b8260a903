"""Calls of coroutines that are cancelled, before, in and after their first step."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.coroutine_bench import CoroutineBench

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
from snakepit_bridge.values.decode import decode


@pytest.fixture(params=[True, False])
def bench(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[CoroutineBench]:
    made = CoroutineBench(tmp_path, one_at_a_time=request.param)
    yield made
    made.close()


def test_one_that_waits_does_not_begin(bench: CoroutineBench) -> None:
    _, second, _ = bench.begin(1, 2, 3)
    second.cancel(CancelReason.CALLER)
    bench.run_all()
    assert list(bench.tasks) == [1, 3]
    frame = bench.frames()[2]
    assert (frame.kind, frame.began) == (pb.FAILURE_KIND_CANCELLED, False)


def test_one_that_is_cancelled_as_it_begins_does_not_run(bench: CoroutineBench) -> None:
    call, _ = bench.begin(1, 2)
    begins = bench.page.begins

    def begins_and_is_cancelled(number: int) -> bool:
        if number == 1:
            call.cancel(CancelReason.DEADLINE)
        return begins(number)

    bench.page.begins = begins_and_is_cancelled  # type: ignore[method-assign]
    bench.table.page = bench.page
    bench.run_all()
    assert list(bench.tasks) == [2]
    bench.outbox.send_added()
    assert bench.frames()[1].kind == pb.FAILURE_KIND_CANCELLED


def test_one_that_is_cancelled_in_its_first_step_is_where_it_suspends(
    bench: CoroutineBench,
) -> None:
    seen: list[str] = []

    async def tool(number: int) -> int:
        if number == 1:
            bench.table.running[1].cancel(CancelReason.CALLER)
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise
        return number

    bench.tool = tool
    bench.run_all(1, 2)
    bench.outbox.send_added()
    assert seen == ["cancelled"]
    assert bench.frames()[1].kind == pb.FAILURE_KIND_CANCELLED
    assert decode(bench.frames()[2].value) == 2


@pytest.mark.parametrize("suspends", [False, True])
def test_one_that_cancels_its_own_task_and_returns_is_cancelled_itself_alone(
    bench: CoroutineBench, suspends: bool
) -> None:
    async def tool(number: int) -> int:
        if number == 1:
            if suspends:
                await asyncio.sleep(0)
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        return number

    bench.tool = tool
    bench.run_all(1, 2)
    bench.outbox.send_added()
    failure = bench.frames()[1]
    assert failure.kind == pb.FAILURE_KIND_TOOL_FAILED
    assert failure.error.type == "asyncio.exceptions.CancelledError"
    assert bench.tasks[2] != bench.tasks[1]
    assert decode(bench.frames()[2].value) == 2


def test_one_that_has_suspended_is_interrupted_and_may_clean_up(
    bench: CoroutineBench,
) -> None:
    async def tool(number: int) -> int:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
        return number

    bench.tool = tool
    (call,) = bench.begin(1)
    bench.coroutines.start()
    bench.turn()
    call.cancel(CancelReason.CALLER)
    call.interrupt()
    while bench.table.running:
        bench.turn()
    bench.outbox.send_added()
    assert bench.frames()[1].kind == pb.FAILURE_KIND_CANCELLED


def test_an_interrupt_that_comes_late_does_not_reach_another_call(
    bench: CoroutineBench,
) -> None:
    async def tool(number: int) -> int:
        await asyncio.sleep(0)
        return number

    bench.tool = tool
    (call,) = bench.begin(1)
    bench.coroutines.start()
    bench.turn()
    late = call.interrupt
    bench.turn(2)
    assert not bench.table.running
    late()
    bench.run_all(2)
    bench.outbox.send_added()
    assert decode(bench.frames()[2].value) == 2


def test_a_tool_that_cancels_every_task_keeps_no_call_from_its_turn(
    bench: CoroutineBench,
) -> None:
    bench.begin(1)
    bench.coroutines.start()
    for task in asyncio.all_tasks(bench.loop):
        task.cancel()
    bench.turn(3)
    bench.outbox.send_added()
    assert decode(bench.frames()[1].value) == 1


def test_one_whose_task_a_tool_cancelled_fails_with_that(bench: CoroutineBench) -> None:
    async def tool(number: int) -> int:
        await asyncio.sleep(60)
        return number

    bench.tool = tool
    bench.begin(1)
    bench.coroutines.start()
    bench.turn()
    for task in asyncio.all_tasks(bench.loop):
        task.cancel()
    bench.turn(3)
    bench.outbox.send_added()
    frame = bench.frames()[1]
    assert (frame.kind, frame.error.type) == (
        pb.FAILURE_KIND_TOOL_FAILED,
        "asyncio.exceptions.CancelledError",
    )
