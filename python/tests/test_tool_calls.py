"""A test calls a tool as a worker does, and pytest has fixtures for it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from snakepit_bridge import Result, ValueNotTransferable, current_call, tool
from snakepit_bridge.calls.run.run_tool import ResultNotLast
from snakepit_bridge.testing import ArgumentsInvalid, call_tool, stream_tool


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
