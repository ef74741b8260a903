"""What the command line says of mistakes, and with which status it ends."""

from __future__ import annotations

import shlex
import subprocess
import sys
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
    (
        ["add", "--json", "[1]", "b=2"],
        65,
        "NAME=VALUE can be combined only with an object",
    ),
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
    (["odd"], 1, "$[0] has the type object, which cannot be sent to the host"),
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
        "empty.py: the tool empty.f: parameter 'x': no value that can cross is of type slice"
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


ENDED = [("0", 0), ("", 0), ("3", 3), ("'no licence'", 1)]


@pytest.mark.parametrize("command", ["types", "tools", "call"])
@pytest.mark.parametrize(("code", "status"), ENDED)
def test_tools_that_end_python_while_they_are_loaded_are_not_taken_for_done(
    tools: Path, command: str, code: str, status: int
) -> None:
    tools.write_text(f"{tools.read_text()}\nimport sys\nsys.exit({code})\n")
    more = {"types": ["--check", "none.ts"], "call": ["add", "a=1"]}
    done = run(command, str(tools), *more.get(command, []))
    assert done.returncode == 66
    last = done.stderr.splitlines()[-1]
    problem = f"it ended Python with exit status {status} while it was loaded"
    assert last == f"cannot load {tools}: {problem}"
    assert f"sys.exit({code})" in done.stderr
    assert "snakepit_bridge" not in done.stderr


COMMANDS = {
    "types": "types {}",
    "tools": "tools {}",
    "schemas": "tools {} --json",
    "call": "call {} add a=1",
}


FULL = pytest.param(
    ">/dev/full",
    marks=pytest.mark.skipif(sys.platform != "linux", reason="has no such device"),
)


@pytest.mark.parametrize("output", [FULL, ">&-"])
@pytest.mark.parametrize("command", COMMANDS)
def test_results_that_cannot_be_written_have_a_status_of_their_own(
    tools: Path, command: str, output: str
) -> None:
    words = COMMANDS[command].format(shlex.quote(str(tools)))
    done = subprocess.run(
        f"{sys.executable} -W error -m snakepit_bridge {words} {output}",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 73
    assert "standard output cannot be written: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_is_written_without_a_standard_output(tools: Path) -> None:
    output = tools.parent / "tools.ts"
    words = f"types {shlex.quote(str(tools))} --output {shlex.quote(str(output))}"
    done = subprocess.run(
        f"{sys.executable} -W error -m snakepit_bridge {words} >&-",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert output.read_text() == run("types", str(tools)).stdout
