"""One tool alone: `python -m snakepit_bridge call`."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import run, write_tools

from snakepit_bridge.testing.tool_calls import load_tools_of


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
    (
        [
            "echo",
            'value={"$ndarray": {"dtype": "int8", "shape": [2], "data": [1, -2]}}',
        ],
        ['{"$ndarray": {"dtype": "int8", "shape": [2], "data": "Af4="}}'],
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


# -------- What the command line says of mistakes, and with which status it ends

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
    (["echo", 'value={"$date": "x"}'], 65, "value: $date: "),
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


# -------- What has started is ended, however a call of the command line or a fixture ends

SOURCE = """
import sys
from snakepit_bridge import on_shutdown, tool, toolset

def say(what):
    print(f"<{what}>", file=sys.stderr)

@tool
def works(n: int = 1) -> int:
    return n

@tool
def fails() -> None:
    raise ValueError("on purpose")

@on_shutdown
def stop():
    say("stopped")

@toolset
class Entered:
    def __enter__(self): ...

    def __exit__(self, *error):
        say("left")

    def teardown(self):
        say("torn down")
        TEARDOWN

    def idle(self) -> None: ...
"""
ALL = ["torn down", "left", "stopped"]


def write(directory: Path, teardown: str = "pass", more: str = "") -> str:
    path = directory / "my_tools.py"
    path.write_text(SOURCE.replace("TEARDOWN", teardown) + more)
    return str(path)


def said(stderr: str) -> list[str]:
    return re.findall(r"^<([a-z ]+)>$", stderr, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["works"], 0),
        (["fails"], 1),
        (["works", "n=x"], 65),
        (["works", "--json", "{"], 65),
        (["works", "--input", "/nowhere"], 65),
        (["nothing"], 65),
    ],
)
def test_the_shut_down_hooks_run_after_every_call(
    tmp_path: Path, arguments: list[str], status: int
) -> None:
    done = run("call", write(tmp_path), *arguments)
    assert (done.returncode, said(done.stderr)) == (status, ALL)


def test_a_hook_that_fails_keeps_none_from_running(tmp_path: Path) -> None:
    tools = write(tmp_path, 'raise OSError("the disk is full")')
    done = run("call", tools, "works")
    assert (done.returncode, done.stdout, said(done.stderr)) == (1, "1\n", ALL)
    assert "a shut-down hook failed: OSError: the disk is full" in done.stderr
    done = run("call", tools, "nothing")
    assert (done.returncode, said(done.stderr)) == (65, ALL)
    assert "the disk is full" in done.stderr


FAILS_TO_START = """
@toolset
class Last:
    def setup(self):
        raise OSError("no weights")

    def other(self) -> None: ...
"""


def test_what_has_started_is_ended_when_the_start_fails(tmp_path: Path) -> None:
    done = run("call", write(tmp_path, more=FAILS_TO_START), "works")
    assert (done.returncode, said(done.stderr)) == (66, ALL)
    assert "OSError: no weights" in done.stderr


def test_a_fixture_ends_what_has_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        pytest.raises(OSError, match="no weights"),
        load_tools_of(write(tmp_path, more=FAILS_TO_START)),
    ):
        raise AssertionError("it has started")
    assert said(capsys.readouterr().err) == ALL
    tools = write(tmp_path, 'raise OSError("the disk is full")')
    with pytest.raises(OSError, match="the disk is full"), load_tools_of(tools):
        pass
    assert said(capsys.readouterr().err) == ALL


# ------------- The types of tools in a file: `python -m snakepit_bridge types`


def test_the_module_goes_to_standard_output_alone(tmp_path: Path) -> None:
    path = tmp_path / "loud.py"
    path.write_text(
        "from snakepit_bridge import tool\n"
        'print("loud")\n'
        "@tool\n"
        'def größe(a: int) -> int: """Größe."""\n',
        encoding="utf-8",
    )
    done = run("types", str(path))
    assert done.returncode == 0
    assert done.stderr == "loud\n"
    assert done.stdout.splitlines() == [
        "// Made by `python -m snakepit_bridge types loud.py`.",
        "",
        "/** What each tool takes, and what it returns if it keeps to its annotations. */",
        "export type Tools = {",
        "  /** Größe. */",
        '  "größe"(',
        "    args:",
        "      | { a: number | bigint }",
        "      | readonly [a: number | bigint],",
        "  ): number | bigint;",
        "};",
    ]


def test_every_tool_is_in_the_module_in_the_order_of_the_file(tools: Path) -> None:
    lines = run("types", str(tools)).stdout.splitlines()
    methods = [line.split("(")[0] for line in lines if line.startswith("  ")]
    listed = run("tools", str(tools)).stdout.splitlines()
    names = [line.split("(")[0] for line in listed if line[0] != " "]
    assert names[-1] == "next"  # a method of a toolset
    assert [method[2:] for method in methods if method[2:] in names] == names


# Each of these would load a model, or use what only a worker has.
HOOKS = """\
import functools
from collections.abc import Iterator
from snakepit_bridge import on_shutdown, on_startup, tool, toolset

def never(*_):
    raise RuntimeError("code of the tools ran")

on_startup(never)
on_shutdown(never)

class Base:
    def inherited(self, a: int) -> int: ...

@toolset(prefix="m.")
class Models(Base):
    __new__ = __init__ = __enter__ = __exit__ = never
    attribute = property(never)

    def setup(self) -> None:
        never()

    teardown = setup

    def predict(self, text: str, /, *, often: int = 1) -> str: ...

    async def later(self, a: int) -> bool: ...

    def each(self) -> Iterator[int]:
        yield 1

    @staticmethod
    def static(a: int) -> int: ...

    @classmethod
    def of_class(cls, a: int) -> int: ...

    @functools.singledispatchmethod
    def shown(self, a: int) -> str: ...

    twice = functools.partialmethod(predict, often=2)
    twice.__name__ = "twice"

@toolset
class Later:
    async def __aenter__(self):
        never()

    @tool(name="marked")
    def method(self, b: str) -> int: ...
"""


def test_the_types_of_a_toolset_need_no_instance_and_no_hook(tmp_path: Path) -> None:
    path = tmp_path / "models.py"
    path.write_text(HOOKS)
    done = run("types", str(path))
    assert (done.stderr, done.returncode) == ("", 0)
    lines = done.stdout.splitlines()
    assert '  "m.static"(' in lines
    assert (
        "  marked(args: { b: string } | readonly [b: string]): number | bigint;"
        in lines
    )
    listed = run("tools", str(path)).stdout.splitlines()
    names = [line.split("(")[0] for line in listed if not line.startswith(" ")]
    assert names == [
        *("m.inherited", "m.predict", "m.later", "m.each", "m.static", "m.of_class"),
        *("m.shown", "m.twice", "marked"),
    ]
    # `call` runs them.
    assert "code of the tools ran" in run("call", str(path), "marked", "b=x").stderr


def test_a_file_is_written_whole_and_is_fresh_from_any_directory(tools: Path) -> None:
    output = tools.parent / "tools.ts"
    written = run("types", tools.name, "--output", output.name, cwd=tools.parent)
    assert (written.returncode, written.stdout, written.stderr) == (0, "", "")
    assert output.read_text() == run("types", str(tools)).stdout
    assert sorted(p.name for p in tools.parent.iterdir() if p.is_file()) == [
        tools.name,
        output.name,
    ]
    checked = run("types", str(tools), "--check", str(output))
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_a_stale_file_is_told_with_its_line_and_the_command_and_left_alone(
    tools: Path,
) -> None:
    output = tools.parent / "tools.ts"
    run("types", str(tools), "--safe-integers", "--output", str(output))
    text = output.read_text()
    assert "--safe-integers" in text.splitlines()[0]
    output.write_text(stale := text.replace("b?: number", "b?: string"))
    line = 1 + [a == b for a, b in zip(stale, text, strict=False)].index(False)
    line = text[:line].count("\n") + 1
    done = run("types", str(tools), "--safe-integers", "--check", str(output))
    command = f"python -m snakepit_bridge types {tools} --safe-integers"
    assert done.stderr == (
        f"{output} is stale from line {line} on; "
        f"make it with `{command} --output {output}`\n"
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert output.read_text() == stale
    shorter = text.rsplit("\n", 2)[0]
    output.write_text(shorter)
    assert run(
        "types", str(tools), "--safe-integers", "--check", str(output)
    ).returncode


def test_the_command_that_is_told_is_one_for_a_shell(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    tools = write_tools(tmp_path / "a b").rename(tmp_path / "a b" / "it's.py")
    output = tmp_path / "a b" / "$x.ts"
    done = run("types", str(tools), "--check", str(output))
    command = done.stderr.partition("make it with `")[2].removesuffix("`\n")
    words = ["python", "-m", "snakepit_bridge", "types", str(tools), "--output"]
    assert shlex.split(command) == [*words, str(output)]


def test_the_first_line_stays_one_whatever_the_name_of_the_file(tmp_path: Path) -> None:
    tools = write_tools(tmp_path).rename(tmp_path / "a\nb c.py")
    first = run("types", str(tools)).stdout.splitlines()[0]
    assert first == r"// Made by `python -m snakepit_bridge types 'a\nb c.py'`."


def test_a_mark_of_the_byte_order_and_other_ends_of_lines_are_not_stale(
    tools: Path,
) -> None:
    output = tools.parent / "tools.ts"
    text = run("types", str(tools)).stdout.replace("\n", "\r\n")
    output.write_bytes(text.encode("utf-8-sig"))
    done = run("types", str(tools), "--check", str(output))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_missing_file_is_stale(tools: Path) -> None:
    done = run("types", str(tools), "--check", str(tools.parent / "none.ts"))
    assert done.returncode == 1
    assert "none.ts cannot be read: " in done.stderr
    assert "--output" in done.stderr


def test_types_of_tools_that_cannot_be_loaded_are_not_written(tmp_path: Path) -> None:
    output = tmp_path / "tools.ts"
    done = run("types", str(tmp_path / "none.py"), "--output", str(output))
    assert done.returncode == 66
    assert done.stderr.count("\n") == 1
    assert "there is no file" in done.stderr
    assert not output.exists()


def test_a_file_is_either_written_or_checked(tools: Path) -> None:
    done = run("types", str(tools), "--output", "a.ts", "--check", "a.ts")
    assert done.returncode == 2
    assert "usage: python -m snakepit_bridge types" in done.stderr


# -------- Where `python -m snakepit_bridge types` writes to, and what it never writes over


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def refused(tools: Path, output: Path) -> str:
    """Returns what is said; the same files are there afterwards."""
    before = {*tools.parent.iterdir(), tools.parent / "__pycache__"}
    done = run("types", str(tools), "--output", str(output))
    assert done.returncode == 73
    assert done.stderr.startswith(f"{output} cannot be written: ")
    assert len(done.stderr.splitlines()) == 1
    assert before == {*tools.parent.iterdir(), tools.parent / "__pycache__"}
    return done.stderr


@pytest.mark.parametrize("name", ["none/tools.ts", "my_tools.py/tools.ts", "."])
def test_a_file_that_cannot_be_written_has_a_status_of_its_own(
    tools: Path, name: str
) -> None:
    refused(tools, tools.parent / name)


def test_the_source_of_the_tools_is_never_written_over(tools: Path) -> None:
    source = tools.read_text()
    assert "it is the source of my_tools, which is loaded" in refused(tools, tools)
    link = tools.parent / "link.py"
    link.symlink_to(tools)
    refused(tools, link)
    hard = tools.parent / "hard.py"
    hard.hardlink_to(tools)
    refused(tools, hard)
    assert tools.read_text() == source
    assert link.is_symlink()


def test_no_module_that_the_tools_import_is_written_over(tools: Path) -> None:
    beside = tools.parent / "beside.py"
    beside.write_text("")
    tools.write_text(f"import beside\n{tools.read_text()}")
    assert "it is the source of beside, which is loaded" in refused(tools, beside)
    assert beside.read_text() == ""


def test_the_source_of_a_module_named_as_one_is_never_written_over(
    tools: Path,
) -> None:
    source = tools.read_text()
    done = run("types", "my_tools", "--output", tools.name, cwd=tools.parent)
    assert done.returncode == 73
    assert tools.read_text() == source


def test_what_is_no_regular_file_is_left_as_it_is(tools: Path) -> None:
    pipe = tools.parent / "pipe"
    os.mkfifo(pipe)
    assert "it exists and is not a regular file" in refused(tools, pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    link = tools.parent / "link"
    link.symlink_to(pipe)
    refused(tools, link)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_what_standard_error_goes_to_is_left_as_it_is(tools: Path) -> None:
    log = tools.parent / "log"
    command = [sys.executable, "-m", "snakepit_bridge", "types", str(tools)]
    # As `/dev/stdout` is one, which a faulty program would replace.
    stdout = tools.parent / "stdout"
    stdout.symlink_to("/proc/self/fd/1" if sys.platform == "linux" else "/dev/fd/1")
    for output in (str(log), str(stdout)):
        with log.open("w") as file:
            words = [*command, "--output", output]
            done = subprocess.run(words, stderr=file, stdout=file, check=False)
        assert done.returncode == 73
        assert log.read_text().startswith(f"{output} cannot be written: ")


@pytest.mark.parametrize("permissions", [0o600, 0o664, 0o640])
def test_a_file_keeps_its_permissions(tools: Path, permissions: int) -> None:
    output = tools.parent / "tools.ts"
    output.write_text("old")
    output.chmod(permissions)
    assert run("types", str(tools), "--output", str(output)).returncode == 0
    assert mode(output) == permissions
    assert output.read_text() != "old"


def test_a_new_file_has_the_permissions_of_any_other(tools: Path) -> None:
    output = tools.parent / "tools.ts"
    assert run("types", str(tools), "--output", str(output)).returncode == 0
    assert mode(output) == mode(tools)


def test_what_a_link_leads_to_is_written(tools: Path) -> None:
    (tools.parent / "elsewhere").mkdir()
    target = tools.parent / "elsewhere" / "tools.ts"
    link = tools.parent / "link.ts"
    link.symlink_to(target)
    for _ in ("it is made", "it is there"):
        assert run("types", str(tools), "--output", str(link)).returncode == 0
        assert link.is_symlink()
        assert target.read_text() == run("types", str(tools)).stdout
        target.write_text("old")


def test_a_link_to_itself_is_left_as_it_is(tools: Path) -> None:
    link = tools.parent / "loop"
    link.symlink_to(link)
    refused(tools, link)
    assert link.is_symlink()
