"""One call of a tool, as a worker runs it, for tests."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from snakepit_bridge.calls.run.local_run import run_locally
from snakepit_bridge.testing.call_context import HostFunction, call_context
from snakepit_bridge.threads.main_thread import MainThread
from snakepit_bridge.tools.binding import did_you_mean
from snakepit_bridge.tools.declaration import MARK, ToolMark
from snakepit_bridge.tools.loading import load_file
from snakepit_bridge.tools.tool import Tool
from snakepit_bridge.tools.toolbox import Toolbox


def call_tool(
    function: Callable[..., Any],
    arguments: Mapping[str, Any] | list[Any] | None = None,
    *,
    session: dict[str, Any] | None = None,
    timeout: float | None = None,
    input: Iterable[object] | None = None,
    host_functions: Mapping[str, HostFunction] | None = None,
    trace_context: Mapping[str, str] | None = None,
) -> Any:
    """Calls a tool that answers once, as a worker does.

    The arguments are converted as if a host had sent them, and checked against the
    annotations; the answer is converted as for a host. An asynchronous tool runs in an
    event loop of its own. In an asynchronous test, whose loop waits meanwhile, that is
    in another thread; to run it in the loop of the test, await the tool itself within
    `call_context`.

    Args:
        function: the function under `@tool`, or a method of a toolset's instance.
        arguments: by name, or a list; none by default.
        session: see `call_context`, also for the other parameters.

    Returns:
        What the host would get: a tuple for a tuple, text for a `Decimal`, and so on.

    Raises:
        ArgumentsInvalid: the arguments do not fit.
        ValueNotTransferable: an argument, an item or the answer cannot be sent.
        TypeError: the tool streams.

    Whatever the tool raises is raised here, too.
    """
    tool = tool_of(function)
    refuse_streams(tool)
    returned = _run_alone(
        tool,
        arguments,
        session=session,
        timeout=timeout,
        input=input,
        host_functions=host_functions,
        trace_context=trace_context,
    )
    with contextlib.closing(returned):
        return next(returned)


def stream_tool(
    function: Callable[..., Any],
    arguments: Mapping[str, Any] | list[Any] | None = None,
    *,
    session: dict[str, Any] | None = None,
    timeout: float | None = None,
    input: Iterable[object] | None = None,
    host_functions: Mapping[str, HostFunction] | None = None,
    trace_context: Mapping[str, str] | None = None,
) -> Generator[Any, None, Any]:
    """Calls a tool that streams, as a worker does; see `call_tool`.

    Returns:
        A generator of the items as the host would get them. It returns what the tool's
        generator returns: `result = yield from stream_tool(...)`.

    Raises:
        TypeError: the tool answers once.
    """
    tool = tool_of(function)
    refuse_answers(tool)
    return _run_alone(
        tool,
        arguments,
        session=session,
        timeout=timeout,
        input=input,
        host_functions=host_functions,
        trace_context=trace_context,
    )


def run_tool(
    tool: Tool,
    arguments: Mapping[str, Any] | list[Any] | None,
    complete: Callable[[Any], Any],
    **context: Any,
) -> Generator[Any, None, Any]:
    """Runs a tool; yields its answer, or its items, as they would arrive.

    Args:
        tool: the tool.
        arguments: by name, or a list.
        complete: runs a coroutine to its end, each time in the same loop.
        context: what `call_context` takes.
    """
    arguments = {} if arguments is None else arguments
    with call_context(tool.name, **context) as call:
        return (yield from run_locally(tool, arguments, call, complete))


def _run_alone(
    tool: Tool, arguments: Mapping[str, Any] | list[Any] | None, **context: Any
) -> Generator[Any, None, Any]:
    """Runs a tool with an event loop of its own, which is made when it is needed."""
    loops: list[asyncio.AbstractEventLoop] = []

    def complete(coroutine: Any) -> Any:
        if not loops:
            loops.append(asyncio.new_event_loop())
        return completed(loops[0], coroutine)

    try:
        return (yield from run_tool(tool, arguments, complete, **context))
    finally:
        for loop in loops:
            completed(loop, loop.shutdown_asyncgens())
            loop.close()


def completed(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any]
) -> Any:
    """Runs a coroutine to its end: in this thread, or, where another loop runs in it, in
    one that it waits for.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return loop.run_until_complete(coroutine)
    run = contextvars.copy_context().run
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run, loop.run_until_complete, coroutine).result()


def tool_of(function: Callable[..., Any]) -> Tool:
    """Returns the tool that a function under `@tool` is.

    Raises:
        TypeError: it is none, or a method without its toolset's instance.
    """
    mark = getattr(function, MARK, None)
    if not isinstance(mark, ToolMark):
        named = getattr(function, "__qualname__", repr(function))
        raise TypeError(f"{named} is not a tool; decorate it with @tool")
    _refuse_unbound(function)
    return Tool(mark.name or function.__name__, function, mark)


def _refuse_unbound(function: Callable[..., Any]) -> None:
    if (
        inspect.isfunction(function)
        and "self" in inspect.signature(function).parameters
    ):
        method = function.__qualname__.rpartition("<locals>.")[2]
        cls, _, name = method.rpartition(".")
        if cls:
            raise TypeError(
                f"{method} is a method without an instance; call {cls}(...).{name}, or "
                f"use the fixture snakepit_tools, which makes the toolset: "
                f"snakepit_tools.call({name!r}, ...)"
            )


def refuse_streams(tool: Tool) -> None:
    """Raises TypeError for a tool that streams."""
    if tool.streams and not tool.is_open:
        raise TypeError(f"{tool.name} answers with a stream; use stream_tool()")


def refuse_answers(tool: Tool) -> None:
    """Raises TypeError for a tool that answers once."""
    if not tool.streams:
        raise TypeError(f"{tool.name} answers once; use call_tool()")


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
        toolbox.start(lambda hook: main.complete(hook()))
        try:
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
        with contextlib.closing(self._run(tool, arguments, context)) as returned:
            return next(returned)

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
            hint = did_you_mean(name, self._tools)
            known = ", ".join(self.names)
            raise LookupError(f"no tool {name!r}{hint} (tools: {known})")
        return tool
