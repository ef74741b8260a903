"""Where `python -m snakepit_bridge types` writes to, and what it never writes over."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import run, write_tools


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    return write_tools(tmp_path)


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
