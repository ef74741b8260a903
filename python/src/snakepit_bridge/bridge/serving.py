"""A worker from step 5 of its start (docs/bridge-protocol.md) to its end."""

from __future__ import annotations

import _thread
import os
import sys
from collections.abc import Callable

from snakepit_bridge.boot import exit_status
from snakepit_bridge.boot.control_channel import ControlChannel, StartFailed
from snakepit_bridge.boot.launch_message import Launch
from snakepit_bridge.boot.lifeline import Lifeline, end_group
from snakepit_bridge.bridge.bridge_thread import BridgeThread
from snakepit_bridge.bridge.logs import Logs
from snakepit_bridge.bridge.transport import TransportParts, load_transport
from snakepit_bridge.calls.cancel.cancel_signal import listen_for_cancel_signal
from snakepit_bridge.calls.cancel.trampoline import invoke
from snakepit_bridge.own_imports import import_late, keep_descriptors, make_way
from snakepit_bridge.telemetry.find_tracing import find_tracing
from snakepit_bridge.threads.main_thread import MainThread
from snakepit_bridge.tools.loading import NoSource, load_file, load_module
from snakepit_bridge.tools.toolbox import Toolbox, ToolsInvalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from snakepit_bridge.telemetry.tracing import Tracing

# A part of the grace that the host gives a leaving worker.
TELEMETRY_GRACE_S = 1.0
# Libraries that make threads coroutines, and how to leave threads as they are.
_PATCHES = {
    "gevent": "monkey.patch_all(thread=False)",
    "eventlet": "monkey_patch(thread=False, select=False)",
}


def work(channel: ControlChannel, lifeline: Lifeline, launch: Launch) -> int:
    """Serves the host until it no longer needs this worker; returns the exit status.

    Raises:
        StartFailed: the worker cannot serve.
    """
    keep_descriptors()
    end_debugging = _set_breakpoints_up(launch)
    parts = load_transport(launch.transport)
    logs = Logs(parts.outbox, launch.log_level)
    try:
        tracing = find_tracing(launch.worker_id, launch.incarnation, launch.telemetry)
        logs.tracing = tracing
        toolbox = invoke(_load_tools, launch)
        # Before the loop is created: it would fail on descriptors that the tools
        # closed, or reuse their numbers.
        _check_descriptors(channel, lifeline)
        _check_threads()
        main = parts.main
        if _needs_loop(launch, toolbox):
            main.loop  # noqa: B018 - it is made here
        _run_startup_hooks(toolbox, main)
        try:
            if tracing is not None:
                # After the hooks, so that the tools' own configuration stays.
                tracing.configure()
            _check_descriptors(channel, lifeline)
            _check_threads()
            bridge = _open_bridge(launch, toolbox, parts, tracing)
            channel.ready_for(
                launch.newest_protocol, lifeline.mode, transport=launch.transport
            )
            logs.begin(bridge.ident)
            if launch.types_file is not None:
                from snakepit_bridge.development.types_file import keep_types

                keep_types(launch.types_file, launch.tools, toolbox.tools.values())
            main.run(import_late())
        finally:
            # Also after a start that fails here: everything that has started is ended,
            # as with `with`.
            toolbox.shut_down(lambda hook: main.complete(invoke(hook)))
        if tracing is not None:
            tracing.close(TELEMETRY_GRACE_S)
        bridge.close()
    finally:
        end_debugging()
        # Log records from here on are not sent.
        logs.finish()
    main.close()
    if lifeline.ended():
        # The host seemed to leave, but it died: also end the processes that the tools
        # have started. A thread that watches the lifeline may not have time for that.
        end_group()
    # Imported at the end: each import makes every start slower.
    from snakepit_bridge.threads.threads_left import name_threads_left

    name_threads_left()
    return exit_status.LEFT


def _open_bridge(
    launch: Launch, toolbox: Toolbox, parts: TransportParts, tracing: Tracing | None
) -> BridgeThread:
    """Returns a bridge that listens.

    Raises:
        StartFailed: the socket cannot be used.
    """
    listen_for_cancel_signal()
    bridge = BridgeThread(launch, toolbox, parts, tracing)
    if launch.watches:
        from snakepit_bridge.development.source_report import SourceReport

        sources = SourceReport(parts.outbox)
        sources.look()
        bridge.after_each_call(sources.look)
    bridge.start()
    return bridge


def _set_breakpoints_up(launch: Launch) -> Callable[[], None]:
    """Sets the effect of `breakpoint()`; returns a function that ends it."""
    if launch.debug is not None:
        from snakepit_bridge.development.breakpoints import stop_at_breakpoints

        return stop_at_breakpoints(*launch.debug)
    if not os.environ.get("PYTHONBREAKPOINT"):
        sys.breakpointhook = _no_debugger
    return lambda: None


def _no_debugger(*_args: object, **_named: object) -> None:
    raise RuntimeError(
        "breakpoint() has no terminal in a worker; give the adapter debug: true, or try "
        "the tool alone: python -m snakepit_bridge call FILE_OR_MODULE TOOL"
    )


def _check_descriptors(channel: ControlChannel, lifeline: Lifeline) -> None:
    if not (channel.intact() and lifeline.intact()):
        raise StartFailed(
            "TOOLS_IMPORT_FAILED",
            "the tools closed file descriptors that belong to the worker; close only "
            "descriptors that they opened",
        )


def _check_threads() -> None:
    """Raises `StartFailed` if threads are coroutines, which wait for the tool that runs:
    the bridge must answer the host meanwhile.
    """
    for name in ("start_new_thread", "start_joinable_thread"):
        start = getattr(_thread, name, None)
        library = str(getattr(start, "__module__", None)).partition(".")[0]
        if library in _PATCHES:
            raise StartFailed(
                "TOOLS_IMPORT_FAILED",
                f"{library} has replaced Python's threads, but the bridge needs a real "
                f"one to answer while a tool runs; use {_PATCHES[library]}",
            )


def _load_tools(launch: Launch) -> Toolbox:
    # A preloaded parent may have added them already.
    if sys.path[: len(launch.tool_path)] != launch.tool_path:
        sys.path[:0] = launch.tool_path
        make_way()
    toolbox = Toolbox()
    for source in launch.tools:
        try:
            if source.module is not None:
                module = load_module(source.module)
            else:
                module = load_file(source.origin)
            toolbox.add(module, source.expose)
        except (NoSource, ToolsInvalid) as error:
            raise StartFailed(
                "TOOLS_IMPORT_FAILED",
                f"the tools cannot be imported from {source.origin}: {error}",
            ) from error
        except BaseException as error:  # sys.exit() at import must not end the worker
            what = f"the tools cannot be imported from {source.origin}"
            raise _failed("TOOLS_IMPORT_FAILED", what, error) from error
    return toolbox


def _needs_loop(launch: Launch, toolbox: Toolbox) -> bool:
    """Returns whether tools use an event loop, or may look for one."""
    return (
        "asyncio" in sys.modules
        or launch.handles is not None
        or any(tool.is_async or tool.may_await for tool in toolbox.tools.values())
    )


def _run_startup_hooks(toolbox: Toolbox, main: MainThread) -> None:
    try:
        toolbox.start(lambda hook: main.complete(invoke(hook)))
    except ToolsInvalid as error:
        raise StartFailed("TOOLS_IMPORT_FAILED", str(error)) from error
    except BaseException as error:
        raise _failed("STARTUP_HOOK_FAILED", "a start-up hook failed", error) from error


def _failed(code: str, what: str, error: BaseException) -> StartFailed:
    from snakepit_bridge.failures.python_error import error_summary, traceback_text

    return StartFailed(code, f"{what}: {error_summary(error)}", traceback_text(error))
