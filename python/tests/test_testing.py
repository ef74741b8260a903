"""A tool is tested without a host, and finds what a worker would give it."""

from __future__ import annotations

import asyncio
import datetime
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from snakepit_bridge import (
    CallCancelled,
    CancelReason,
    HostCallFailed,
    Result,
    ValueNotTransferable,
    current_call,
    tool,
)
from snakepit_bridge.calls.run.run_tool import ResultNotLast
from snakepit_bridge.testing import (
    ArgumentsInvalid,
    call_context,
    call_tool,
    stream_tool,
)


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


# -------- A test calls a tool as a worker does, and pytest has fixtures for it


@tool
def total(articles: list[str], vat: Decimal = Decimal("0.2")) -> Decimal:
    prices = [current_call().host("price", article) for article in articles]
    return sum(map(Decimal, prices)) * (1 + vat)


@tool
async def later(word: str) -> tuple[str, str]:
    return word, current_call().tool


@tool
async def pauses(word: str) -> tuple[str, str]:
    await asyncio.sleep(0)
    return await later(word)


@tool
def letters(word: str) -> Iterator[str]:
    yield from word
    return len(word)  # type: ignore[return-value] # after the last item


@tool
async def letters_later(word: str) -> AsyncIterator[str | Result[int]]:
    for letter in word:
        yield letter
    yield Result(len(word))


@tool
async def goes_on() -> AsyncIterator[str | Result[int]]:
    yield Result(0)
    yield "more"


@tool
def unsendable() -> object:
    return object()


def undecorated() -> None: ...


def price(article: str) -> str:
    return {"pen": "2.50", "ink": "4"}[article]


def test_arguments_and_answer_cross_as_between_host_and_worker() -> None:
    answer = call_tool(
        total, {"articles": ["pen", "ink"]}, host_functions={"price": price}
    )
    assert answer == "7.800"
    assert call_tool(total, [["pen"], "0"], host_functions={"price": price}) == "2.50"


def test_an_asynchronous_tool_is_run_to_its_end() -> None:
    assert call_tool(later, {"word": "soon"}) == ("soon", "later")


def test_a_stream_has_its_items_and_what_it_returns() -> None:
    def whole(function: Callable[..., Any]) -> Iterator[Any]:
        returned = yield from stream_tool(function, {"word": "abc"})
        yield returned

    assert list(whole(letters)) == ["a", "b", "c", 3]
    assert list(whole(letters_later)) == ["a", "b", "c", 3]
    with pytest.raises(ResultNotLast, match="yielded str after its Result"):
        list(stream_tool(goes_on))


@pytest.mark.parametrize(
    ("call", "error", "problem"),
    [
        (lambda: call_tool(total, {"articles": 3}), ArgumentsInvalid, r"\$.articles"),
        (lambda: call_tool(total), ArgumentsInvalid, "articles"),
        (lambda: call_tool(unsendable), ValueNotTransferable, "object"),
        (lambda: call_tool(letters, ["ab"]), TypeError, "stream_tool"),
        (lambda: stream_tool(total, [["pen"]]), TypeError, "call_tool"),
        (lambda: call_tool(undecorated), TypeError, "@tool"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, error: type, problem: str) -> None:
    with pytest.raises(error, match=problem):
        call()


TOOLS = """
from snakepit_bridge import current_call, on_shutdown, on_startup, tool

loaded = []

@on_startup
async def load() -> None:
    loaded.append("model")

@on_shutdown
def unload() -> None:
    print("unloaded", loaded)

@tool
async def predict(text: str) -> str:
    who = await current_call().host_async("who")
    return f"{text} by {loaded[0]} for {who}"

@tool
def words(text: str):
    yield from text.split()

def quick() -> str:
    return str(current_call().host("who"))
"""

TESTS = """
import pytest

def test_a_tool(snakepit_tools):
    answer = snakepit_tools.call(
        "predict", {"text": "a poem"}, host_functions={"who": lambda _: "you"})
    assert answer == "a poem by model for you"
    assert list(snakepit_tools.stream("words", {"text": "to be"})) == ["to", "be"]
    assert snakepit_tools.names == ["predict", "words"]

def test_a_wrong_name(snakepit_tools):
    with pytest.raises(LookupError, match="did you mean 'predict'"):
        snakepit_tools.call("predicts")

def test_a_current_call(snakepit_call):
    import tools
    call = snakepit_call(host_functions={"who": lambda _: "me"}, timeout=10)
    assert tools.quick() == "me"
    assert call.remaining > 5

def test_a_call_made_in_an_asynchronous_test(snakepit_call, snakepit_tools):
    import asyncio
    from snakepit_bridge import current_call

    async def body():
        # In a context of its own, as plugins for asynchronous tests run them.
        call = snakepit_call(timeout=10)
        assert current_call() is call
        answer = snakepit_tools.call(
            "predict", {"text": "a poem"}, host_functions={"who": lambda _: "you"})
        assert answer == "a poem by model for you"

    asyncio.run(body())
"""


def test_pytest_has_the_fixtures_and_imports_the_bridge_when_one_is_asked_for(
    tmp_path: Path,
) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app/tools.py").write_text(TOOLS)
    (tmp_path / "test_tools.py").write_text(TESTS)
    # Before it, and so before anything has asked for a fixture.
    (tmp_path / "test_nothing.py").write_text(
        "import sys\n\n"
        "def test_nothing():\n"
        "    assert 'snakepit_bridge.pytest_plugin' in sys.modules\n"
        "    assert 'snakepit_bridge.testing' not in sys.modules\n"
    )
    settings = "[pytest]\nsnakepit_tools = app/tools.py\npythonpath = app\n"
    (tmp_path / "pytest.ini").write_text(settings)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout
    assert "unloaded ['model']" in done.stdout


def test_a_file_that_is_missing_is_named_with_the_setting(tmp_path: Path) -> None:
    test = "def test_a_tool(snakepit_tools): ...\n"
    (tmp_path / "test_tools.py").write_text(test)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"there is no file {tmp_path / 'tools.py'}" in done.stdout
    assert "snakepit_tools = app/tools.py (now tools.py)" in done.stdout


def test_an_asynchronous_test_may_call_an_asynchronous_tool() -> None:
    async def body() -> None:
        assert call_tool(pauses, {"word": "soon"}) == ("soon", "pauses")
        assert list(stream_tool(letters_later, {"word": "ab"})) == ["a", "b"]

    asyncio.run(body())
