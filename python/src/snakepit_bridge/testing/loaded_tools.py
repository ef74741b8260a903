"""The tools of a file, as a worker loads them, for tests."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Generator, Iterator, Mapping
from functools import partial
from typing import Any

from snakepit_bridge.testing.tool_calls import (
    completed,
    refuse_answers,
    refuse_streams,
    run_tool,
)
from snakepit_bridge.threads.main_thread import MainThread
from snakepit_bridge.tools.loading import load_file
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.tools.toolbox import Toolbox

__all__ = ["LoadedTools", "load_tools_of"]


@contextlib.contextmanager
def load_tools_of(path: str) -> Iterator[LoadedTools]:
    """Loads a file and runs its start-up hooks; at the end its shutdown hooks.

    Raises whatever the file and its hooks raise.

    Raises:
        NoSource: there is no such file.
        ToolsInvalid: its tools cannot be offered as they are declared.
    """
    main = MainThread()
    try:
        toolbox = Toolbox(load_file(path))
        try:
            for hook in toolbox.startup_hooks():
                main.complete(hook())
            yield LoadedTools(toolbox.tools, main)
        finally:
            failed = toolbox.shut_down(lambda hook: main.complete(hook()))
        for error in failed:
            raise error
    finally:
        main.close()


class LoadedTools:
    """The tools of a file, with its start-up hooks run."""

    def __init__(self, tools: Mapping[str, Tool], main: MainThread) -> None:
        self._tools = tools
        self._main = main

    @property
    def names(self) -> list[str]:
        """The names of the tools."""
        return sorted(self._tools)

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | list[Any] | None = None,
        **context: Any,
    ) -> Any:
        """Calls a tool that answers once; see `call_tool`.

        Raises:
            LookupError: there is no such tool.
        """
        tool = self._find(name)
        refuse_streams(tool)
        with contextlib.closing(self._run(tool, arguments, context)) as made:
            return next(made)

    def stream(
        self,
        name: str,
        arguments: Mapping[str, Any] | list[Any] | None = None,
        **context: Any,
    ) -> Generator[Any, None, Any]:
        """Calls a tool that streams; see `stream_tool`.

        Raises:
            LookupError: there is no such tool.
        """
        tool = self._find(name)
        refuse_answers(tool)
        return self._run(tool, arguments, context)

    def _run(
        self,
        tool: Tool,
        arguments: Mapping[str, Any] | list[Any] | None,
        context: Mapping[str, Any],
    ) -> Generator[Any, None, Any]:
        # In the loop of the start-up hooks: what they made may belong to it.
        complete = partial(completed, self._main.loop)
        return run_tool(tool, arguments, complete, **context)

    def _find(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            near = difflib.get_close_matches(name, self._tools, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            known = ", ".join(self.names)
            raise LookupError(f"no tool {name!r}{hint} (tools: {known})")
        return tool
