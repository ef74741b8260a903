"""What the command line says of mistakes, and with which status it ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import run, write_tools


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    return write_tools(tmp_path)


MISTAKES = [
    (["add"], 65, "add: $.a: missing argument, expected int"),
    (["add", "a=x"], 65, "add: $.a: expected int, got str"),
    (["ad", "a=1"], 65, "no tool 'ad'; did you mean 'add'?"),
    (["add", "--json", "{"], 65, "--json: "),
    (["add", "--json", "[1]", "b=2"], 65, "NAME=VALUE goes together with an object"),
    (["add", "a"], 65, "not NAME=VALUE: a"),
    (["echo", "--json", '{"value": {"$date": "x"}}'], 65, "$date: "),
    (["echo", 'value={"$ndarray": [1]}'], 65, "$ndarray: must be an object with dtype"),
    (
        ["echo", 'value={"$ndarray": {"data": []}}'],
        65,
        "$ndarray: must be an object with",
    ),
    (["total", "--input", "/nowhere"], 65, "--input: "),
    (["fails"], 1, "ValueError: on purpose"),
    (["odd"], 1, "$[0] is an object, which has no image"),
    (["asks"], 1, "there is no host here; in a test"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), MISTAKES)
def test_a_mistake_ends_with_its_own_status_and_words(
    tools: Path, arguments: list[str], code: int, message: str
) -> None:
    done = run("call", str(tools), *arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert done.stdout == ""


def test_input_that_is_no_json_is_told_with_its_line(tools: Path) -> None:
    done = run("call", str(tools), "total", "--input=-", stdin="1\nx\n")
    assert done.returncode == 65
    assert "--input, line 2: " in done.stderr


def test_a_traceback_shows_the_users_code_only(tools: Path) -> None:
    done = run("call", str(tools), "fails")
    assert "my_tools.py" in done.stderr
    assert "snakepit_bridge" not in done.stderr


@pytest.mark.parametrize("target", ["no_such_module", "no/such/file.py"])
def test_tools_that_cannot_be_loaded_have_a_status_of_their_own(target: str) -> None:
    done = run("call", target, "add")
    assert done.returncode == 66
    assert f"cannot load {target}" in done.stderr


UNLOADABLE = {
    "x = 1\n": "empty.py: empty has no tools; decorate a function with @tool",
    "from snakepit_bridge import tool\n\n@tool\ndef f(x: slice): ...\n": (
        "empty.py: the tool empty.f: parameter 'x': no value that crosses is a slice"
    ),
}


@pytest.mark.parametrize("source", UNLOADABLE)
def test_a_mistake_in_the_tools_is_told_without_a_traceback_of_the_bridge(
    source: str, tmp_path: Path
) -> None:
    path = tmp_path / "empty.py"
    path.write_text(source)
    done = run("tools", str(path))
    assert done.returncode == 66
    assert done.stderr.startswith("cannot load ")
    assert UNLOADABLE[source] in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_file_that_is_not_there_is_told_in_one_line() -> None:
    done = run("tools", "/no/such/file.py")
    problem = "there is no file /no/such/file.py"
    assert done.stderr == f"cannot load /no/such/file.py: {problem}\n"


def test_a_tagged_argument_that_is_none_is_told_and_not_taken_for_text(
    tools: Path,
) -> None:
    done = run("call", str(tools), "echo", 'value={"$date": "x"}')
    assert done.returncode == 65
    assert "value: $date: " in done.stderr


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["tools"], ["tools", "--x"]])
def test_wrong_usage_says_what_is_right(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 64
    assert "usage: python -m snakepit_bridge" in done.stderr
