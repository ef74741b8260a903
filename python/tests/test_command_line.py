"""One tool alone: `python -m snakepit_bridge call`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import run, write_tools


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    return write_tools(tmp_path)


CALLS = [
    (["add", "--json", '{"a": 1, "b": 5}'], ["6"]),
    (["add", "--json", "[1]"], ["3"]),
    (["add", "a=1"], ["3"]),
    (["add", "a=1", "--json", '{"b": 1}'], ["2"]),
    (["add_later", "a=1", "b=2"], ["3"]),
    (["count", "n=3"], ["0", "1", "2"]),
    (["count_later", "n=2"], ["0", "1"]),
    (["next"], ["1"]),
    (["shout", "text=5"], ['"5"']),
    (["shout", "text=a b"], ['"A B"']),
    (
        ["typed", "folder=5", "due=2024-02-29"],
        ['{"folder": "5", "due": {"$date": "2024-02-29"}, "size": 1, "name": "SMALL"}'],
    ),
    (["echo", 'value={"$bytes": "AAE="}'], ['{"$bytes": "AAE="}']),
    (["echo", 'value={"$tuple": [1, {"$set": [2]}]}'], None),
    (["echo", 'value={"$map": [[1, "a"]]}'], None),
    (["echo", 'value={"$float": "nan"}'], None),
    (["echo", 'value={"$date": "2024-02-29"}'], None),
    (["echo", 'value={"$datetime": "2024-02-29T01:02:03+00:00"}'], None),
    (
        ["echo", 'value={"$ndarray": {"dtype": "int8", "shape": [2], "data": "AAE="}}'],
        None,
    ),
    (["context", "--timeout", "5"], ['{"tool": "context", "timed": true}']),
]


@pytest.mark.parametrize(("arguments", "lines"), CALLS)
def test_a_call_prints_its_result_or_chunks_as_lines_of_json(
    tools: Path, arguments: list[str], lines: list[str] | None
) -> None:
    done = run("call", str(tools), *arguments)
    assert done.returncode == 0, done.stderr
    if lines is None:
        lines = [arguments[1].removeprefix("value=")]
    assert done.stdout.splitlines() == lines
    assert done.stderr == "stopped\n"


NOISY = """
import os
import subprocess
from snakepit_bridge import on_shutdown, on_startup, tool

print("imported")

@on_startup
def start() -> None:
    subprocess.run(["echo", "a child started"], check=True)

@tool
def add(a: int) -> int:
    print("adding")
    os.write(1, b"from C\\n")
    return a + 1

@on_shutdown
def stop() -> None:
    print("stopped")
"""


def test_what_tools_print_is_not_among_the_results(tmp_path: Path) -> None:
    path = tmp_path / "noisy.py"
    path.write_text(NOISY)
    called = run("call", str(path), "add", "a=1")
    assert called.stdout == "2\n"
    printed = ["imported", "a child started", "adding", "from C", "stopped"]
    assert called.stderr.splitlines() == printed
    listed = run("tools", str(path), "--json")
    assert [tool["name"] for tool in json.loads(listed.stdout)] == ["add"]
    assert listed.stderr.splitlines() == printed[:1]
    assert run("tools", str(path)).stdout == "add(a: int) -> int\n"


def test_results_come_out_where_there_is_no_standard_error(tools: Path) -> None:
    command = f"{sys.executable} -m snakepit_bridge call {tools} echo value=1 2>&-"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, check=True
    )
    assert "1\n" in done.stdout


def test_tools_are_found_by_module_name_too(tools: Path) -> None:
    done = run("call", "my_tools", "add", "a=1", cwd=tools.parent)
    assert done.stdout == "3\n"


@pytest.mark.parametrize("lines", ["1\n2.5\n", "1\n2.5"])
def test_lines_of_json_are_the_input_stream(
    tools: Path, lines: str, tmp_path: Path
) -> None:
    path = tmp_path / "lines.json"
    path.write_text(lines)
    assert run("call", str(tools), "total", "--input", str(path)).stdout == "3.5\n"
    assert run("call", str(tools), "total", "--input=-", stdin=lines).stdout == "3.5\n"


def test_what_may_be_left_out_is_listed_with_its_default(tmp_path: Path) -> None:
    path = tmp_path / "defaults.py"
    path.write_text(
        """
from snakepit_bridge import tool

class Late: ...

@tool
def f(a: int, b: str = "x", c: object = Late(), *, d: bool = False): ...
"""
    )
    listed = "f(a: int, b: str = 'x', c: Any = ..., d: bool = False) -> Any\n"
    assert run("tools", str(path)).stdout == listed


def test_an_array_may_be_written_as_its_numbers(tools: Path) -> None:
    array = '{"$ndarray": {"dtype": "int16", "shape": [2], "data": [1, -2]}}'
    done = run("call", str(tools), "echo", f"value={array}")
    answer = {"$ndarray": {"dtype": "int16", "shape": [2], "data": "AQD+/w=="}}
    assert json.loads(done.stdout) == answer


def test_a_reader_that_has_enough_is_no_error(tools: Path) -> None:
    command = f"{sys.executable} -m snakepit_bridge call {tools} count n=100000"
    done = subprocess.run(
        f"{command} | head -n 1", shell=True, capture_output=True, text=True, check=True
    )
    assert done.stdout == "0\n"
    assert "Error" not in done.stderr


def test_what_a_generator_returns_is_told_beside_the_results(tmp_path: Path) -> None:
    path = tmp_path / "returning.py"
    path.write_text(
        """
from collections.abc import Generator
from snakepit_bridge import tool

@tool
def totals(below: int) -> Generator[int, None, dict[str, int]]:
    yield from range(below)
    return {"total": sum(range(below))}
"""
    )
    done = run("call", str(path), "totals", "below=3")
    assert done.stdout == "0\n1\n2\n"
    assert 'totals returned {"total": 3}\n' in done.stderr
    listed = "totals(below: int) -> int (stream, returns dict[str, int])\n"
    assert run("tools", str(path)).stdout == listed
    (described,) = json.loads(run("tools", str(path), "--json").stdout)
    assert described["streamResult"]["type"] == "object"


def test_tools_are_listed_as_lines(tools: Path) -> None:
    done = run("tools", str(tools))
    assert done.returncode == 0
    assert "add(a: int, b: int = 2) -> int\n    Adds two numbers.\n" in done.stdout
    assert "count(n: int) -> int (stream)\n" in done.stdout
    assert "next() -> int\n" in done.stdout


def test_tools_are_listed_with_their_schemas_as_json(tools: Path) -> None:
    listed = {
        tool["name"]: tool
        for tool in json.loads(run("tools", str(tools), "--json").stdout)
    }
    assert listed["add"]["arguments"]["required"] == ["a"]
    assert listed["count"]["streams"]
    assert listed["total"]["input"] == {"type": "number"}


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["call", "--help"]])
def test_help_is_help(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 0
    assert "usage: python -m snakepit_bridge" in done.stdout
