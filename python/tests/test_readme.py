"""The examples of the README and of docs/values.md do what they say."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_template import run_in_copy

README = Path(__file__).parents[1] / "README.md"
VALUES = README.parents[1] / "docs" / "values.md"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(page: Path) -> list[tuple[str, str]]:
    """Returns the tools of a page and the commands that are about them."""
    found: list[tuple[str, str]] = []
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            found.append((text, ""))
        else:
            source, commands = found[-1]
            found[-1] = (source, commands + text)
    return found


def steps(commands: str) -> list[tuple[str, str]]:
    """Returns commands and what they print."""
    parts = re.split(r"^\$ (.*)\n", commands, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


EXAMPLES = [
    pytest.param(example, id=f"{page.name}-{number}")
    for page in (README, VALUES)
    for number, example in enumerate(examples(page))
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_prints_what_its_page_says(
    example: tuple[str, str], tmp_path: Path
) -> None:
    source, commands = example
    (tmp_path / "tools.py").write_text(source, encoding="utf-8")
    assert steps(commands)
    for command, printed in steps(commands):
        assert shown(command, tmp_path) == printed


def shown(command: str, directory: Path) -> str:
    """Returns what a command prints."""
    python, option, module, *arguments = shlex.split(command)
    words = (python, option, module)
    if words == ("python", "-m", "snakepit_bridge") and "|" not in arguments:
        return run_in_copy(
            tuple(arguments), "", directory, errors_with_output=True
        ).stdout
    return subprocess.run(
        command.replace("python ", f"{sys.executable} ", 1),
        shell=True,
        cwd=directory,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    ).stdout


def test_every_public_name_is_in_the_readme_or_in_a_docstring() -> None:
    import snakepit_bridge

    text = README.read_text(encoding="utf-8")
    for name in snakepit_bridge.__all__:
        item = getattr(snakepit_bridge, name)
        assert name in text or item.__doc__, name


def test_every_name_of_telemetry_is_in_the_readme() -> None:
    from snakepit_bridge.telemetry import names

    text = README.read_text(encoding="utf-8")
    found = {name: value for name, value in vars(names).items() if name.isupper()}
    assert len(found) > 10
    # The scope, and what the convention puts on an event named `exception`.
    for value in found.values():
        if value != names.SCOPE and not value.startswith("exception."):
            assert f"`{value}`" in text, value
