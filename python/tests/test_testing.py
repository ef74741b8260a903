"""A tool is tested without a host, and finds what a worker would give it."""

from __future__ import annotations

import asyncio
import datetime
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from snakepit_bridge import (
    CallCancelled,
    CancelReason,
    HostCallFailed,
    ValueNotTransferable,
    current_call,
    tool,
)
from snakepit_bridge.testing import call_context


@tool
def remember(key: str, value: object) -> int:
    session = current_call().session
    assert session is not None
    session[key] = value
    return len(session)


@tool
def ask(question: object) -> Any:
    return current_call().host("answer", question)


@tool
async def ask_async(question: object) -> Any:
    return await current_call().host_async("answer", question)


@tool(input=int)
def doubled() -> Iterator[int]:
    for number in current_call().input:
        yield 2 * number


@tool
def steps() -> list[int]:
    call = current_call()
    done = []
    for step in range(5):
        call.raise_if_cancelled()
        call.host("progress", step)
        done.append(step)
    return done


def test_a_call_is_current_within_and_not_after() -> None:
    with call_context("facts", trace_context={"traceparent": "00-a-b-01"}) as call:
        assert current_call() is call
        assert (call.tool, call.logger.name) == ("facts", "tool.facts")
        assert call.trace_context == {"traceparent": "00-a-b-01"}
        assert (call.session, call.deadline, call.remaining) == (None, None, None)
        assert (call.cancelled, call.cancel_reason) == (False, None)
        assert list(call.input) == []
        with call_context("inner") as inner:
            assert current_call() is inner
        assert current_call() is call
    with pytest.raises(
        RuntimeError, match=r"no call runs here; in a test, .*call_context\(\)"
    ):
        current_call()


def test_a_test_that_fails_leaves_no_call_behind() -> None:
    with pytest.raises(ZeroDivisionError), call_context():
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="no call runs here"):
        current_call()


def test_calls_share_a_session_by_its_dictionary() -> None:
    session: dict[str, Any] = {}
    with call_context(session=session):
        assert remember("a", 1) == 1
    with call_context(session=session):
        assert remember("b", 2) == 2
    assert session == {"a": 1, "b": 2}


def test_a_deadline_counts_down_and_cancels_nothing_by_itself() -> None:
    with call_context(timeout=60) as call:
        assert call.remaining is not None and 0 < call.remaining <= 60
    with call_context(timeout=0) as call:
        assert call.remaining == 0
        assert not call.cancelled


def test_host_functions_answer_what_a_host_would_send() -> None:
    asked: list[object] = []

    def answer(question: object) -> object:
        asked.append(question)
        return (1, datetime.date(2030, 1, 31))

    with call_context(host_functions={"answer": answer}):
        assert ask({"bytes": b"x"}) == (1, datetime.date(2030, 1, 31))
        assert asyncio.run(ask_async([None])) == (1, datetime.date(2030, 1, 31))
    assert asked == [{"bytes": b"x"}, [None]]


def test_a_list_that_was_sent_is_not_the_tool_s_own() -> None:
    kept: list[list[int]] = []
    mine = [1]
    with call_context(host_functions={"answer": kept.append}):
        assert ask(mine) is None
    mine.append(2)
    assert kept == [[1]]


def test_what_a_host_function_raises_is_a_failure_of_the_host() -> None:
    def answer(question: object) -> object:
        if question == "typed":
            raise HostCallFailed("answer", "OUT_OF_STOCK", "no more pens")
        raise ValueError("no such article")

    with call_context(host_functions={"answer": answer}):
        with pytest.raises(HostCallFailed, match="no such article") as plain:
            ask("plain")
        with pytest.raises(HostCallFailed) as typed:
            asyncio.run(ask_async("typed"))
    assert (plain.value.function, plain.value.code) == ("answer", "ValueError")
    assert (typed.value.code, typed.value.message) == ("OUT_OF_STOCK", "no more pens")


def test_a_function_that_the_host_does_not_have_is_named_beside_those_it_has() -> None:
    with call_context(), pytest.raises(HostCallFailed, match="none") as failed:
        ask(1)
    assert failed.value.code == "FUNCTION_NOT_FOUND"
    with (
        call_context(host_functions={"reply": id}),
        pytest.raises(HostCallFailed, match="registered: reply"),
    ):
        ask(1)


def test_what_cannot_cross_to_a_host_cannot_here() -> None:
    with (
        call_context(host_functions={"answer": lambda _: None}),
        pytest.raises(ValueNotTransferable),
    ):
        ask(object())
    with (
        call_context(host_functions={"answer": lambda _: object()}),
        pytest.raises(HostCallFailed, match="VALUE_NOT_TRANSFERABLE"),
    ):
        ask(1)
    with (
        pytest.raises(ValueNotTransferable, match=r"\$input\[1\]"),
        call_context(input=[1, object()]),
    ):
        pass


def test_an_asynchronous_tool_may_not_block_the_loop_here_either() -> None:
    async def blocks() -> None:
        ask(1)

    async def reads() -> list[int]:
        return list(doubled())

    with call_context(host_functions={"answer": lambda _: 1}, input=[1]):
        with pytest.raises(RuntimeError, match="host_async"):
            asyncio.run(blocks())
        with pytest.raises(RuntimeError, match="async for"):
            asyncio.run(reads())

        async def in_a_thread() -> Any:
            return await asyncio.to_thread(ask, 1)

        assert asyncio.run(in_a_thread()) == 1


def test_input_is_read_once_as_it_would_arrive() -> None:
    with call_context(input=(n for n in (1, 2, 3))) as call:
        assert list(doubled()) == [2, 4, 6]
        assert list(call.input) == []

    async def collected() -> list[object]:
        return [item async for item in current_call().input]

    with call_context(input=range(40)):
        assert asyncio.run(collected()) == list(range(40))


def test_a_cancel_is_noticed_at_the_next_look() -> None:
    def progress(step: int) -> None:
        if step == 2:
            call.cancel(CancelReason.DEADLINE)

    with call_context(host_functions={"progress": progress}) as call:
        with pytest.raises(CallCancelled) as cancelled:
            steps()
        assert cancelled.value.reason is CancelReason.DEADLINE
        call.cancel(CancelReason.SHUTDOWN)
        assert (call.cancelled, call.cancel_reason) == (True, CancelReason.DEADLINE)


def test_a_cancelled_call_asks_and_reads_no_more() -> None:
    with call_context(host_functions={"answer": lambda _: 1}, input=[1]) as call:
        call.cancel()
        with pytest.raises(CallCancelled) as cancelled:
            ask(1)
        assert cancelled.value.reason is CancelReason.CALLER
        with pytest.raises(CallCancelled):
            next(doubled())


def test_a_thread_cancels_a_tool_that_looks() -> None:
    begun = threading.Event()

    @tool
    def waits() -> None:
        begun.set()
        while True:
            current_call().raise_if_cancelled()

    with call_context() as call:

        def cancel() -> None:
            begun.wait()
            call.cancel()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        with pytest.raises(CallCancelled):
            waits()
        canceller.join()
