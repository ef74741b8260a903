"""Fixtures for tests of tools. pytest finds them if this package is installed.

`snakepit_call(...)` makes a call current until the test ends, and returns it.
`snakepit_tools` has the tools of one file, as a worker loads them: `tools.py` beside
pytest's configuration, or the file in the setting `snakepit_tools`.
"""

# Every run of pytest in this environment imports this file: the rest is imported by
# the fixtures.
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from snakepit_bridge.testing import LocalCall
    from snakepit_bridge.testing.tool_calls import LoadedTools


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the setting `snakepit_tools`."""
    parser.addini(
        "snakepit_tools",
        "path of the tools for the fixture snakepit_tools, from the root directory",
        default="tools.py",
    )


@pytest.fixture
def snakepit_call() -> Iterator[Callable[..., LocalCall]]:
    """Makes a call current for the rest of the test.

    Takes the arguments of `snakepit_bridge.testing.call_context`.
    """
    from snakepit_bridge.testing import call_context

    with contextlib.ExitStack() as calls:
        yield lambda *args, **options: calls.enter_context(
            call_context(*args, **options)
        )


@pytest.fixture(scope="session")
def snakepit_tools(request: pytest.FixtureRequest) -> Iterator[LoadedTools]:
    """The tools of a file, loaded once, as a worker does. Its start-up hooks have run.

    `snakepit_tools.call(name, arguments)` and `snakepit_tools.stream(name, arguments)`
    work like `call_tool` and `stream_tool` of `snakepit_bridge.testing`.
    """
    from snakepit_bridge.testing.tool_calls import load_tools_of

    named = request.config.getini("snakepit_tools")
    path = request.config.rootpath / named
    if not path.is_file():
        pytest.fail(
            f"there is no file {path}; set the path of the tools in pytest's "
            f"configuration, such as snakepit_tools = app/tools.py (now {named})",
            pytrace=False,
        )
    with load_tools_of(str(path)) as tools:
        yield tools
