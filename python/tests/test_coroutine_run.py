"""Calls of coroutines: which task runs them, and what they see of it."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.coroutine_bench import SEEN, CoroutineBench

from snakepit_bridge import current_call
from snakepit_bridge._gen import bridge_pb2 as pb
from snakepit_bridge.values.decode import decode


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[CoroutineBench]:
    made = CoroutineBench(tmp_path)
    yield made
    made.close()


@pytest.fixture
def together(tmp_path: Path) -> Iterator[CoroutineBench]:
    """Runs as many as come."""
    made = CoroutineBench(tmp_path, one_at_a_time=False)
    yield made
    made.close()


def values(bench: CoroutineBench) -> dict[int, Any]:
    bench.outbox.send_added()
    return {number: decode(frame.value) for number, frame in bench.frames().items()}


def test_calls_that_do_not_suspend_share_a_task_and_a_turn(
    bench: CoroutineBench,
) -> None:
    bench.begin(1, 2, 3)
    bench.coroutines.start()
    bench.turn()
    assert values(bench) == {1: 1, 2: 2, 3: 3}
    assert bench.sent() == [[1, 2, 3]]
    assert len(set(bench.tasks.values())) == 1
    assert (bench.table.running, bench.gathering.progress) == ({}, 3)
    assert bench.ended == 1


def keep(kept: list[Any]) -> None:
    kept.append(asyncio.current_task())


def keep_weakly(kept: list[Any]) -> None:
    task = asyncio.current_task()
    assert task is not None
    kept.append(weakref.ref(task, lambda _: None))


def name_it(_kept: list[Any]) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.set_name("mine")


def await_its_end(kept: list[Any]) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.add_done_callback(lambda _: kept.append("done"))


@pytest.mark.parametrize("leave_a_trace", [keep, keep_weakly, name_it, await_its_end])
def test_a_task_that_a_call_kept_or_changed_is_not_used_again(
    bench: CoroutineBench, leave_a_trace: Callable[[list[Any]], None]
) -> None:
    kept: list[Any] = []

    async def tool(number: int) -> int:
        if number == 2:
            leave_a_trace(kept)
        if number == 3:
            await asyncio.sleep(0)
        return number

    bench.tool = tool
    bench.run_all(1, 2, 3)
    assert values(bench) == {1: 1, 2: 2, 3: 3}
    assert bench.tasks[1] == bench.tasks[2]
    assert bench.tasks[3] not in (bench.tasks[1], "mine")
    if leave_a_trace is await_its_end:
        assert kept == ["done"]


@pytest.mark.parametrize("fails", [False, True])
def test_an_answer_behind_a_call_that_blocked_does_not_wait_for_the_next_one_that_blocks(
    together: CoroutineBench, fails: bool
) -> None:
    left: list[bool] = []

    async def tool(number: int) -> int:
        if number == 1:
            # It blocks the loop for so long that another thread sends what waits.
            together.now_ns += 1_000_000
            together.release()
        if number == 2 and fails:
            raise ValueError
        if number == 3:
            left.append(not together.outbox.waiting or together.is_watched)
        return number

    together.tool = tool
    together.run_all(1, 2, 3)
    assert left == [True]


def test_a_call_looks_at_its_task_as_any_coroutine(bench: CoroutineBench) -> None:
    async def tool(number: int) -> int:
        task = asyncio.current_task()
        assert task in asyncio.all_tasks()
        return await asyncio.wait_for(asyncio.sleep(0, number), 10)

    bench.tool = tool
    bench.run_all(1, 2)
    assert values(bench) == {1: 1, 2: 2}
    assert bench.tasks[1] != bench.tasks[2]


@pytest.mark.parametrize("suspends", [False, True])
def test_each_call_has_a_context_of_its_own_from_its_first_step_to_its_last(
    bench: CoroutineBench, suspends: bool
) -> None:
    async def tool(number: int) -> list[int]:
        before = SEEN.get()
        token = SEEN.set(number)
        if suspends:
            await asyncio.sleep(0)
        seen = SEEN.get()
        SEEN.reset(token)
        SEEN.set(-number)
        return [current_call().call_id, before, seen]

    bench.tool = tool
    bench.run_all(1, 2, 3)
    assert values(bench) == {n: [n, 0, n] for n in (1, 2, 3)}
    assert SEEN.get() == 0


def test_one_that_suspends_keeps_the_next_from_its_turn(bench: CoroutineBench) -> None:
    future: asyncio.Future[int] = bench.loop.create_future()

    async def tool(number: int) -> int:
        return await future if number == 2 else number

    bench.tool = tool
    bench.begin(1, 2, 3)
    bench.coroutines.start()
    bench.turn(3)
    assert list(bench.tasks) == [1, 2]
    assert (list(bench.table.running), bench.ended) == ([2, 3], 0)
    future.set_result(20)
    bench.turn(3)
    assert values(bench) == {1: 1, 2: 20, 3: 3}
    assert bench.tasks[3] != bench.tasks[2]


def test_where_several_may_run_the_others_begin_beside_one_that_suspends(
    together: CoroutineBench,
) -> None:
    future: asyncio.Future[int] = together.loop.create_future()

    async def tool(number: int) -> int:
        return await future if number in (2, 3) else number

    together.tool = tool
    together.begin(1, 2, 3, 4)
    together.coroutines.look()
    together.turn(2)
    assert list(together.table.running) == [2, 3]
    assert values(together) == {1: 1, 4: 4}
    future.set_result(5)
    together.turn(2)
    assert values(together) == {1: 1, 4: 4, 2: 5, 3: 5}
    # As the last one did, the next ones may suspend: each has its task at once.
    together.coroutines.suspends = True
    together.run_all(5, 6)
    assert values(together)[6] == 6


def test_what_fails_answers_as_any_call(bench: CoroutineBench) -> None:
    async def tool(number: int) -> Any:
        if number == 1:
            raise ValueError("no")
        if number == 2:
            raise SystemExit(2)
        await asyncio.sleep(0)
        if number == 3:
            raise StopAsyncIteration
        return (number, 2)

    bench.tool = tool
    bench.run_all(1, 2, 3, 4)
    bench.outbox.send_added()
    frames = bench.frames()
    errors = [(frames[n].error.type, frames[n].began) for n in (1, 2, 3)]
    assert errors == [
        ("ValueError", True),
        ("SystemExit", True),
        ("StopAsyncIteration", True),
    ]
    assert decode(frames[4].value) == (4, 2)


def test_arguments_are_checked_and_named_ones_given(bench: CoroutineBench) -> None:
    from snakepit_bridge.values.encode import encode

    first, second = bench.begin(1, 2)
    first.arguments, second.arguments = encode({"number": 7}), encode(["x"])
    bench.run_all()
    bench.outbox.send_added()
    frames = bench.frames()
    assert decode(frames[1].value) == 7
    invalid = (frames[2].kind, frames[2].began)
    assert invalid == (pb.FAILURE_KIND_INVALID_ARGUMENTS, False)


def test_what_was_taken_back_does_not_begin(bench: CoroutineBench) -> None:
    bench.begin(1, 2, 3)
    memoryview(bench.page._page).cast("Q")[1] = 2 * 64 + 1
    bench.run_all()
    assert list(bench.tasks) == [1, 3]
    bench.outbox.send_added()
    assert bench.frames()[2].kind == pb.FAILURE_KIND_TAKEN_BACK


def test_a_factory_of_the_tools_makes_a_task_for_each_call(
    bench: CoroutineBench,
) -> None:
    made: list[Any] = []

    def make(loop: Any, coroutine: Any, **options: Any) -> Any:
        made.append(asyncio.current_task(loop))
        return asyncio.Task(coroutine, loop=loop, **options)

    bench.loop.set_task_factory(make)
    bench.run_all(1, 2, 3)
    assert values(bench) == {1: 1, 2: 2, 3: 3}
    assert made == [None, None, None]


def test_a_handler_that_raises_in_the_bridge_ends_one_call_only(
    bench: CoroutineBench,
) -> None:
    def interrupted(_: int) -> bool:
        bench.coroutines.begins = begins
        raise KeyboardInterrupt

    begins, bench.coroutines.begins = bench.coroutines.begins, interrupted
    bench.begin(1, 2)
    bench.coroutines.start()
    (task,) = asyncio.all_tasks(bench.loop)
    with pytest.raises(KeyboardInterrupt):
        bench.turn()
    assert isinstance(task.exception(), KeyboardInterrupt)
    bench.run_all()
    bench.outbox.send_added()
    frames = bench.frames()
    assert frames[1].error.type == "KeyboardInterrupt"
    assert decode(frames[2].value) == 2
