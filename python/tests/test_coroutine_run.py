"""Calls of coroutines: which task runs them, and what they see of it."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Host
from support.batches import AT_ONCE, settled
from support.coroutine_bench import SEEN, CoroutineBench

from snakepit_bridge import current_call
from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.calls.cancel.cancel_reason import CancelReason
from snakepit_bridge.values.decode import decode

BOTH_TRANSPORTS_IN_CHECK = True


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


# -------- Calls of coroutines that are cancelled, before, in and after their first step


@pytest.fixture(params=[True, False])
def either(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[CoroutineBench]:
    made = CoroutineBench(tmp_path, one_at_a_time=request.param)
    yield made
    made.close()


def test_one_that_waits_does_not_begin(either: CoroutineBench) -> None:
    _, second, _ = either.begin(1, 2, 3)
    second.cancel(CancelReason.CALLER)
    either.run_all()
    assert list(either.tasks) == [1, 3]
    frame = either.frames()[2]
    assert (frame.kind, frame.began) == (pb.FAILURE_KIND_CANCELLED, False)


def test_one_that_is_cancelled_as_it_begins_does_not_run(
    either: CoroutineBench,
) -> None:
    call, _ = either.begin(1, 2)
    begins = either.page.begins

    def begins_and_is_cancelled(number: int) -> bool:
        if number == 1:
            call.cancel(CancelReason.DEADLINE)
        return begins(number)

    either.page.begins = begins_and_is_cancelled  # type: ignore[method-assign]
    either.table.page = either.page
    either.run_all()
    assert list(either.tasks) == [2]
    either.outbox.send_added()
    assert either.frames()[1].kind == pb.FAILURE_KIND_CANCELLED


def test_one_that_is_cancelled_in_its_first_step_is_where_it_suspends(
    either: CoroutineBench,
) -> None:
    seen: list[str] = []

    async def tool(number: int) -> int:
        if number == 1:
            either.table.running[1].cancel(CancelReason.CALLER)
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise
        return number

    either.tool = tool
    either.run_all(1, 2)
    either.outbox.send_added()
    assert seen == ["cancelled"]
    assert either.frames()[1].kind == pb.FAILURE_KIND_CANCELLED
    assert decode(either.frames()[2].value) == 2


@pytest.mark.parametrize("suspends", [False, True])
def test_one_that_cancels_its_own_task_and_returns_is_cancelled_itself_alone(
    either: CoroutineBench, suspends: bool
) -> None:
    async def tool(number: int) -> int:
        if number == 1:
            if suspends:
                await asyncio.sleep(0)
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        return number

    either.tool = tool
    either.run_all(1, 2)
    either.outbox.send_added()
    failure = either.frames()[1]
    assert failure.kind == pb.FAILURE_KIND_TOOL_FAILED
    assert failure.error.type == "asyncio.exceptions.CancelledError"
    assert either.tasks[2] != either.tasks[1]
    assert decode(either.frames()[2].value) == 2


def test_one_that_has_suspended_is_interrupted_and_may_clean_up(
    either: CoroutineBench,
) -> None:
    async def tool(number: int) -> int:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
        return number

    either.tool = tool
    (call,) = either.begin(1)
    either.coroutines.start()
    either.turn()
    call.cancel(CancelReason.CALLER)
    call.interrupt()
    while either.table.running:
        either.turn()
    either.outbox.send_added()
    assert either.frames()[1].kind == pb.FAILURE_KIND_CANCELLED


def test_an_interrupt_that_comes_late_does_not_reach_another_call(
    either: CoroutineBench,
) -> None:
    async def tool(number: int) -> int:
        await asyncio.sleep(0)
        return number

    either.tool = tool
    (call,) = either.begin(1)
    either.coroutines.start()
    either.turn()
    late = call.interrupt
    either.turn(2)
    assert not either.table.running
    late()
    either.run_all(2)
    either.outbox.send_added()
    assert decode(either.frames()[2].value) == 2


def test_a_tool_that_cancels_every_task_keeps_no_call_from_its_turn(
    either: CoroutineBench,
) -> None:
    either.begin(1)
    either.coroutines.start()
    for task in asyncio.all_tasks(either.loop):
        task.cancel()
    either.turn(3)
    either.outbox.send_added()
    assert decode(either.frames()[1].value) == 1


def test_one_whose_task_a_tool_cancelled_fails_with_that(
    either: CoroutineBench,
) -> None:
    async def tool(number: int) -> int:
        await asyncio.sleep(60)
        return number

    either.tool = tool
    either.begin(1)
    either.coroutines.start()
    either.turn()
    for task in asyncio.all_tasks(either.loop):
        task.cancel()
    either.turn(3)
    either.outbox.send_added()
    frame = either.frames()[1]
    assert (frame.kind, frame.error.type) == (
        pb.FAILURE_KIND_TOOL_FAILED,
        "asyncio.exceptions.CancelledError",
    )


# -------- Tools that cancel every task that they find, also those that have not taken a step

TOOLS = """
    import asyncio
    import os
    from collections.abc import AsyncIterator
    from snakepit_bridge import Batch, current_call, tool

    reader, writer = os.pipe()

    @tool
    async def cancel_others(turns: int) -> None:
        current_call().logger.info("blocks")
        os.read(reader, 1)
        # The loop makes the tasks of what came meanwhile.
        for _ in range(turns):
            await asyncio.sleep(0)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    @tool
    def release() -> int:
        return os.write(writer, b"x")

    @tool(batch=Batch(max=4, wait_ms=0))
    async def together(items: list[str]) -> list[str]:
        return items

    @tool
    async def counts() -> AsyncIterator[int]:
        yield 1
"""


def test_a_call_whose_task_a_tool_cancelled_before_it_began_runs(start: Host) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    canceller = conversation.begin("cancel_others", [1])
    assert conversation.logs.get(timeout=30).message == "blocks"
    stream = conversation.begin("counts", stream_credit=8)
    conversation.begin("release")
    kinds: dict[int, str] = {}
    while len(kinds) < 2:
        frame = conversation.receive()
        kind = frame.WhichOneof("frame") or ""
        if kind in ("result", "end", "failure"):
            call_id = getattr(frame, kind).call_id
            if call_id in (canceller, stream):
                kinds[call_id] = kind
    assert kinds == {canceller: "result", stream: "end"}


def test_a_batch_whose_task_a_tool_cancelled_before_it_began_ends(start: Host) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    canceller = conversation.begin("cancel_others", [2])
    assert conversation.logs.get(timeout=30).message == "blocks"
    call = conversation.begin("together", ["a"])
    conversation.begin("release")
    found = settled(conversation, [canceller, call])
    assert found[call].kind == pb.FAILURE_KIND_TOOL_FAILED
    assert found[call].error.type == "asyncio.exceptions.CancelledError"
    # The next batch is not kept from its turn.
    assert conversation.call("together", ["b"]) == "b"
