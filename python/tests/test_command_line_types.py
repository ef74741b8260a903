"""The types of tools in a file: `python -m snakepit_bridge types`."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from support.command_line import run, write_tools


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    return write_tools(tmp_path)


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


def test_tools_that_cannot_be_loaded_have_a_status_of_their_own(tmp_path: Path) -> None:
    output = tmp_path / "tools.ts"
    done = run("types", str(tmp_path / "none.py"), "--output", str(output))
    assert done.returncode == 66
    assert "there is no file" in done.stderr
    assert not output.exists()


def test_a_file_is_either_written_or_checked(tools: Path) -> None:
    done = run("types", str(tools), "--output", "a.ts", "--check", "a.ts")
    assert done.returncode == 2
    assert "usage: python -m snakepit_bridge types" in done.stderr
