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
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
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


def test_calls_that_do_not_suspend_have_their_own_task_and_share_a_turn(
    bench: CoroutineBench,
) -> None:
    bench.begin(1, 2, 3)
    bench.coroutines.start()
    bench.turn()
    assert values(bench) == {1: 1, 2: 2, 3: 3}
    assert bench.sent() == [[1, 2, 3]]
    assert len(set(bench.tasks.values())) == 3
    assert (bench.table.running, bench.coalescer.progress) == ({}, 3)
    assert bench.ended == 1


USERS: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


def marks(task: Any, number: int) -> bool:
    found: bool = hasattr(task, "user")
    task.user = number
    return found


def registers(task: Any, number: int) -> bool:
    found = task in USERS
    USERS[task] = number
    return found


def names(task: Any, number: int) -> bool:
    found: bool = task.get_name() == "mine"
    task.set_name("mine")
    return found


def keeps(task: Any, number: int) -> bool:
    found = any(kept is task for kept in KEPT)
    KEPT.append(task)
    return found


KEPT: list[Any] = []


@pytest.mark.parametrize("leave_a_trace", [marks, registers, names, keeps])
@pytest.mark.parametrize("suspends", [(), (1,), (2, 3), (1, 2, 3, 4)])
@pytest.mark.parametrize("one_at_a_time", [False, True])
def test_no_call_finds_what_another_left_in_its_task(
    tmp_path: Path,
    leave_a_trace: Callable[[Any, int], bool],
    suspends: tuple[int, ...],
    one_at_a_time: bool,
) -> None:
    ended: list[int] = []
    used = CoroutineBench(tmp_path, one_at_a_time=one_at_a_time)

    async def tool(number: int) -> bool:
        task: Any = asyncio.current_task()
        found: bool = leave_a_trace(task, number)
        if number in suspends:
            await asyncio.sleep(0)
            task.add_done_callback(lambda _: ended.append(number))
        return found

    used.tool = tool
    used.run_all(1, 2, 3, 4)
    used.run_all(5)
    used.turn()
    assert list(values(used).values()) == [False] * 5
    # Each task ends with its call.
    assert tuple(sorted(ended)) == suspends
    KEPT.clear()
    used.close()


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


@pytest.mark.parametrize(
    ("which", "others"), [("bench", [1, 2]), ("together", [1, 2, 3, 4])]
)
def test_one_that_runs_the_loop_keeps_its_turn_meanwhile(
    request: pytest.FixtureRequest, which: str, others: list[int]
) -> None:
    used: CoroutineBench = request.getfixturevalue(which)
    begun: list[int] = []
    during: list[list[int]] = []

    async def tool(number: int) -> int:
        begun.append(number)
        if number == 2:
            # As nest_asyncio does it.
            loop, outer = used.loop, asyncio.current_task()
            asyncio.tasks._leave_task(loop, outer)  # type: ignore[arg-type]
            inner = loop.create_task(asyncio.sleep(0, 20))
            while not inner.done():
                loop._run_once()  # type: ignore[attr-defined]
            # The outer run has counted its callbacks.
            for _ in range(4):
                loop.call_soon(int)
            asyncio.tasks._enter_task(loop, outer)  # type: ignore[arg-type]
            during.append([*begun])
            number = inner.result()
        return number

    used.tool = tool
    used.run_all(1, 2, 3, 4)
    # Where several may run, they begin meanwhile.
    assert during == [others]
    assert values(used) == {1: 1, 2: 20, 3: 3, 4: 4}
    used.run_all(5)
    assert values(used)[5] == 5


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


def test_what_was_recalled_does_not_begin(bench: CoroutineBench) -> None:
    bench.begin(1, 2, 3)
    memoryview(bench.page._page).cast("Q")[1] = 2 * 64 + 1
    bench.run_all()
    assert list(bench.tasks) == [1, 3]
    bench.outbox.send_added()
    assert bench.frames()[2].kind == pb.FAILURE_KIND_RECALLED


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
        bench.page.begins = begins  # type: ignore[method-assign]
        raise KeyboardInterrupt

    begins = bench.page.begins
    bench.page.begins = interrupted  # type: ignore[method-assign, assignment]
    bench.begin(1, 2)
    bench.coroutines.start()
    tasks = asyncio.all_tasks(bench.loop)
    with pytest.raises(KeyboardInterrupt):
        bench.turn()
    (task,) = (each for each in tasks if each.done())
    assert isinstance(task.exception(), KeyboardInterrupt)
    bench.run_all()
    bench.outbox.send_added()
    frames = bench.frames()
    assert frames[1].error.type == "KeyboardInterrupt"
    assert decode(frames[2].value) == 2
