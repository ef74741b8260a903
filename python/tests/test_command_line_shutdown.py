"""What has started is ended, however a call of the command line or a fixture ends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.command_line import run

from snakepit_bridge.testing.tool_calls import load_tools_of

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
